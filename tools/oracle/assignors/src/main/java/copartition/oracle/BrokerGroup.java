package copartition.oracle;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.coordinator.group.api.assignor.PartitionAssignor;
import org.apache.kafka.coordinator.group.api.assignor.SubscriptionType;
import org.apache.kafka.coordinator.group.assignor.RangeAssignor;
import org.apache.kafka.coordinator.group.assignor.SimpleAssignor;
import org.apache.kafka.coordinator.group.assignor.UniformAssignor;
import org.apache.kafka.coordinator.group.generated.ConsumerGroupTargetAssignmentMemberValue;
import org.apache.kafka.coordinator.group.modern.Assignment;
import org.apache.kafka.coordinator.group.modern.ModernGroup;
import org.apache.kafka.coordinator.group.modern.SubscriptionCount;
import org.apache.kafka.coordinator.group.modern.TargetAssignmentBuilder;
import org.apache.kafka.coordinator.group.modern.consumer.ConsumerGroupMember;
import org.apache.kafka.coordinator.group.modern.share.ShareGroupMember;

/** A KIP-848 group, or a share group (KIP-932): the coordinator's own target assignment builder, with targets that went through its records. */
final class BrokerGroup implements Scenario.Leader {
    private final PartitionAssignor assignor;
    /** Target of each member as its last record listed it. */
    private final Map<String, List<TopicPartition>> targets = new HashMap<>();

    BrokerGroup(String name) {
        assignor = instance(name);
    }

    static PartitionAssignor instance(String name) {
        return switch (name) {
            case "simple" -> new SimpleAssignor();
            case "uniform" -> new UniformAssignor();
            default -> new RangeAssignor();
        };
    }

    @Override
    public Inputs.Member recall(Inputs.Member member) {
        List<TopicPartition> target = member.owned() != null
            ? member.owned()
            : targets.getOrDefault(member.carry(), List.of());
        return member.resolved(member.topics(), target, null, null);
    }

    @Override
    public Scenario.Answer assign(List<Inputs.Topic> topics, List<Inputs.Member> members) {
        return new Scenario.Answer(new Group(topics, members).assign(assignor), null);
    }

    /** Writes a record where the target changed; an equal one keeps the order of the record it has. */
    @Override
    public void handOut(List<Inputs.Member> members, Scenario.Answer answer, int generation) {
        for (Inputs.Member member : members) {
            List<TopicPartition> old = member.owned() == null ? List.of() : member.owned();
            List<TopicPartition> now = answer.lists().getOrDefault(member.id(), List.of());
            targets.put(member.id(), new HashSet<>(old).equals(new HashSet<>(now)) ? old : now);
        }
    }

    /** The group as the coordinator holds it when it computes a target assignment. */
    static final class Group {
        private final Image image;
        private final Map<String, ConsumerGroupMember> members = new LinkedHashMap<>();
        private final Map<String, ShareGroupMember> shareMembers = new LinkedHashMap<>();
        private final Map<String, Assignment> targets = new HashMap<>();
        private final Map<Uuid, Map<Integer, String>> owners = new HashMap<>();
        private final SubscriptionType subscriptionType;

        Group(List<Inputs.Topic> topics, List<Inputs.Member> inputs) {
            image = new Image(topics, 0);
            Map<String, SubscriptionCount> subscribers = new HashMap<>();
            for (Inputs.Member input : inputs) {
                ConsumerGroupMember member = new ConsumerGroupMember.Builder(input.id())
                    .setInstanceId(input.instanceId())
                    .setRackId(input.rack())
                    .setSubscribedTopicNames(input.topics())
                    .build();
                members.put(input.id(), member);
                shareMembers.put(input.id(), new ShareGroupMember.Builder(input.id())
                    .setSubscribedTopicNames(input.topics())
                    .build());
                member.subscribedTopicNames()
                    .forEach(topic -> subscribers.compute(topic, SubscriptionCount::incNameCount));
                Assignment target = target(input.owned());
                targets.put(input.id(), target);
                target.partitions().forEach((id, partitions) -> partitions.forEach(partition ->
                    owners.computeIfAbsent(id, key -> new HashMap<>()).put(partition, input.id())));
            }
            subscriptionType = ModernGroup.subscriptionType(subscribers, members.size());
        }

        Map<String, List<TopicPartition>> assign(PartitionAssignor assignor) {
            return assignor instanceof SimpleAssignor
                ? assign(new TargetAssignmentBuilder.ShareTargetAssignmentBuilder("group", 1, assignor)
                    .withMembers(shareMembers))
                : assign(new TargetAssignmentBuilder.ConsumerTargetAssignmentBuilder("group", 1, assignor)
                    .withMembers(members));
        }

        private Map<String, List<TopicPartition>> assign(TargetAssignmentBuilder<?, ?> builder) {
            Map<String, List<TopicPartition>> lists = new LinkedHashMap<>();
            builder
                .withTime(Time.SYSTEM)
                .withSubscriptionType(subscriptionType)
                .withTargetAssignment(targets)
                .withInvertedTargetAssignment(owners)
                .withMetadataImage(image)
                .build()
                .targetAssignment()
                .forEach((member, assignment) -> {
                    List<TopicPartition> list = new ArrayList<>();
                    assignment.partitions().forEach((id, partitions) ->
                        partitions.forEach(partition -> list.add(new TopicPartition(image.nameOf(id), partition))));
                    lists.put(member, list);
                });
            return lists;
        }

        private Assignment target(List<TopicPartition> owned) {
            Map<String, List<Integer>> byTopic = new LinkedHashMap<>();
            for (TopicPartition partition : owned == null ? List.<TopicPartition>of() : owned) {
                byTopic.computeIfAbsent(partition.topic(), topic -> new ArrayList<>()).add(partition.partition());
            }
            ConsumerGroupTargetAssignmentMemberValue target = new ConsumerGroupTargetAssignmentMemberValue();
            byTopic.forEach((topic, partitions) -> target.topicPartitions().add(
                new ConsumerGroupTargetAssignmentMemberValue.TopicPartition()
                    .setTopicId(image.idOf(topic))
                    .setPartitions(partitions)));
            return Assignment.fromRecord(target);
        }
    }
}
