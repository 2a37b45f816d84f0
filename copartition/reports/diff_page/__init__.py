"""The parts of a diff's page: who owned what, who gave what to whom, the loads, what the stop costs."""
