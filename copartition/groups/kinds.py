"""Say what a group of another kind is: not of consumers, so that no partition has one owner to ask about.

Kafka has four kinds of groups: classic ones, groups of the consumer protocol (KIP-848), share groups
(KIP-932) and Streams groups (KIP-1071).
"""

OTHER_KINDS = {
    "share": (
        "{group} is a share group (KIP-932): several members read one partition by design, so that none has "
        "an owner, moves or waits for a rebalance; kafka-share-groups.sh --describe --group {group} shows "
        "its lag, with --members --verbose who reads what; copartition assign share plans it"
    ),
    "streams": (
        "{group} is a Streams group (KIP-1071): its members have tasks, active, standby or warm-up ones, "
        "not partitions; kafka-streams-groups.sh --describe --group {group} shows its lag, with --members "
        "--verbose who has which task; copartition assign streams plans them"
    ),
}
"""For each kind by ListGroups' name of its type, the sentence about a group of it; `group` is the name."""
