"""Why a group rebalanced: what logs of brokers and clients say, and what avoids it."""
