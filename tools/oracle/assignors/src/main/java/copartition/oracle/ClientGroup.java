package copartition.oracle;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Assignment;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.GroupSubscription;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Subscription;
import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;
import org.apache.kafka.clients.consumer.RangeAssignor;
import org.apache.kafka.clients.consumer.RoundRobinAssignor;
import org.apache.kafka.clients.consumer.StickyAssignor;
import org.apache.kafka.clients.consumer.internals.AbstractStickyAssignor;
import org.apache.kafka.clients.consumer.internals.ConsumerProtocol;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;

/** A group of the classic protocol: a leader with its assignor, and the consumers that remember what they got. */
final class ClientGroup implements Scenario.Leader {
    /** A consumer between rebalances: its own assignor instance, what it was given and when. */
    private static final class Consumer {
        final ConsumerPartitionAssignor assignor;
        List<TopicPartition> assigned = List.of();
        int generation = -1;

        Consumer(ConsumerPartitionAssignor assignor) {
            this.assignor = assignor;
        }
    }

    private final String name;
    private final ConsumerPartitionAssignor assignor;
    private final Unadjusted unadjusted;
    private final Map<String, Consumer> consumers = new HashMap<>();

    ClientGroup(String name) {
        this.name = name;
        assignor = instance(name);
        unadjusted = assignor instanceof CooperativeStickyAssignor ? new Unadjusted() : null;
    }

    static ConsumerPartitionAssignor instance(String name) {
        return switch (name) {
            case "range" -> new RangeAssignor();
            case "roundrobin" -> new RoundRobinAssignor();
            case "sticky" -> new StickyAssignor();
            case "cooperative-sticky" -> new CooperativeStickyAssignor();
            default -> throw new IllegalArgumentException("no assignor " + name);
        };
    }

    /** What the member's consumer would send when it rejoins, through the bytes it would send. */
    @Override
    public Inputs.Member recall(Inputs.Member member) {
        Consumer consumer = consumers.get(member.carry());
        if (consumer == null) {
            throw new IllegalStateException("member " + member.id() + " carries on from " + member.carry()
                + ", which no step knows");
        }
        Set<String> topics = new LinkedHashSet<>(member.topics());
        List<TopicPartition> owned = new ArrayList<>();
        if (unadjusted != null) {
            // An eager consumer gives everything up before it rejoins, a cooperative one what it no longer subscribes to.
            consumer.assigned.stream().filter(partition -> topics.contains(partition.topic())).forEach(owned::add);
        }
        ByteBuffer userData = member.userData() != null
            ? ByteBuffer.wrap(member.userData())
            : consumer.assignor.subscriptionUserData(topics);
        Subscription told = throughBytes(new Subscription(
            new ArrayList<>(topics),
            userData,
            member.owned() != null ? member.owned() : owned,
            member.generation() != null ? member.generation() : consumer.generation,
            Optional.ofNullable(member.rack())));
        return member.resolved(
            told.topics(), told.ownedPartitions(), told.generationId().orElse(null), told.userData());
    }

    @Override
    public Scenario.Answer assign(List<Inputs.Topic> topics, List<Inputs.Member> members) {
        members.forEach(member -> consumers.computeIfAbsent(member.id(), id -> new Consumer(instance(name))));
        Cluster cluster = cluster(topics);
        Map<String, Assignment> given = assignor.assign(cluster, subscriptions(members)).groupAssignment();
        Map<String, List<TopicPartition>> lists = new LinkedHashMap<>();
        given.forEach((member, assignment) -> lists.put(member, assignment.partitions()));
        if (unadjusted == null) {
            return new Scenario.Answer(lists, null);
        }
        Map<TopicPartition, String> transferring = new LinkedHashMap<>();
        unadjusted.assign(cluster, subscriptions(members)).groupAssignment().forEach((member, assignment) -> {
            Set<TopicPartition> kept = new HashSet<>(lists.get(member));
            assignment.partitions().stream()
                .filter(partition -> !kept.contains(partition))
                .forEach(partition -> transferring.put(partition, member));
        });
        return new Scenario.Answer(lists, transferring);
    }

    @Override
    public void handOut(List<Inputs.Member> members, Scenario.Answer answer, int generation) {
        for (Inputs.Member member : members) {
            ByteBuffer bytes = ConsumerProtocol.serializeAssignment(new Assignment(answer.lists().get(member.id())));
            Assignment received = ConsumerProtocol.deserializeAssignment(bytes);
            Consumer consumer = consumers.get(member.id());
            consumer.assigned = received.partitions();
            consumer.generation = generation;
            consumer.assignor.onAssignment(
                received,
                new ConsumerGroupMetadata("group", generation, member.id(), Optional.ofNullable(member.instanceId())));
        }
    }

    private static Subscription throughBytes(Subscription subscription) {
        return ConsumerProtocol.deserializeSubscription(ConsumerProtocol.serializeSubscription(subscription));
    }

    /** The leader's map: a HashMap filled in the order of the JoinGroup response. */
    static GroupSubscription subscriptions(List<Inputs.Member> members) {
        Map<String, Subscription> subscriptions = new HashMap<>();
        for (Inputs.Member member : members) {
            Subscription subscription = new Subscription(
                member.topics(),
                member.userData() == null ? null : ByteBuffer.wrap(member.userData()),
                member.owned() == null ? List.of() : member.owned(),
                member.generation() == null ? AbstractStickyAssignor.DEFAULT_GENERATION : member.generation(),
                Optional.ofNullable(member.rack()).filter(rack -> !rack.isEmpty()));
            subscription.setGroupInstanceId(Optional.ofNullable(member.instanceId()));
            subscriptions.put(member.id(), subscription);
        }
        return new GroupSubscription(subscriptions);
    }

    static Cluster cluster(List<Inputs.Topic> topics) {
        Map<String, Node> nodes = new LinkedHashMap<>();
        List<PartitionInfo> partitions = new ArrayList<>();
        for (Inputs.Topic topic : topics) {
            for (int partition = 0; partition < topic.partitions(); partition++) {
                List<String> racks = topic.racks() == null ? List.of() : topic.racks().get(partition);
                Node[] replicas = (racks.isEmpty() ? Collections.<String>singletonList(null) : racks).stream()
                    .map(rack -> nodes.computeIfAbsent(
                        String.valueOf(rack), key -> new Node(nodes.size(), "host" + nodes.size(), 9092, rack)))
                    .toArray(Node[]::new);
                partitions.add(new PartitionInfo(topic.name(), partition, replicas[0], replicas, replicas));
            }
        }
        return new Cluster("cluster", nodes.values(), partitions, Set.of(), Set.of());
    }

    /**
     * Cooperative-sticky before it takes back what has to be revoked first: the difference is what is transferring.
     */
    private static final class Unadjusted extends CooperativeStickyAssignor {
        private static final MethodHandle ASSIGN;

        static {
            try {
                ASSIGN = MethodHandles.privateLookupIn(CooperativeStickyAssignor.class, MethodHandles.lookup())
                    .findSpecial(
                        AbstractStickyAssignor.class,
                        "assignPartitions",
                        MethodType.methodType(Map.class, Map.class, Map.class),
                        CooperativeStickyAssignor.class);
            } catch (ReflectiveOperationException e) {
                throw new ExceptionInInitializerError(e);
            }
        }

        @Override
        @SuppressWarnings("unchecked")
        public Map<String, List<TopicPartition>> assignPartitions(
                Map<String, List<PartitionInfo>> partitions, Map<String, Subscription> subscriptions) {
            try {
                return (Map<String, List<TopicPartition>>) ASSIGN.invoke(this, partitions, subscriptions);
            } catch (RuntimeException e) {
                throw e;
            } catch (Throwable e) {
                throw new AssertionError(e);
            }
        }
    }
}
