"""The picture of a join: where the keys are that topics share."""
