package copartition.oracle;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.coordinator.common.runtime.CoordinatorMetadataDelta;
import org.apache.kafka.coordinator.common.runtime.CoordinatorMetadataImage;

/** The topics that exist; a target may still name one that is gone, which then has an id made from its name. */
final class Image implements CoordinatorMetadataImage {
    private record Known(String name, Uuid id, int partitionCount, List<List<String>> racks) implements TopicMetadata {
        @Override
        public List<String> partitionRacks(int partition) {
            return racks == null ? new ArrayList<>() : new ArrayList<>(racks.get(partition)); // the caller sorts it
        }
    }

    /** What the coordinator is told when topics are created or grow; none is ever deleted. */
    record Delta(Collection<Uuid> createdTopicIds, Collection<Uuid> changedTopicIds, CoordinatorMetadataImage image)
            implements CoordinatorMetadataDelta {
        @Override
        public Set<Uuid> deletedTopicIds() {
            return Set.of();
        }
    }

    private final long version;
    private final Map<String, TopicMetadata> byName = new LinkedHashMap<>();
    private final Map<Uuid, TopicMetadata> byId = new HashMap<>();
    private final Map<Uuid, String> gone = new HashMap<>();

    Image(List<Inputs.Topic> topics, long version) {
        this.version = version;
        for (Inputs.Topic topic : topics) {
            if (topic.partitions() > 0) {
                Uuid id = topic.id() == null ? Inputs.madeId(topic.name()) : topic.id();
                Known known = new Known(topic.name(), id, topic.partitions(), topic.racks());
                byName.put(topic.name(), known);
                byId.put(id, known);
            }
        }
    }

    Delta since(Image before) {
        return new Delta(
            byId.keySet().stream().filter(id -> !before.byId.containsKey(id)).toList(),
            byId.keySet().stream().filter(id -> !byId.get(id).equals(before.byId.get(id))).toList(),
            this);
    }

    Uuid idOf(String name) {
        if (byName.containsKey(name)) {
            return byName.get(name).id();
        }
        Uuid id = Inputs.madeId(name);
        gone.put(id, name);
        return id;
    }

    String nameOf(Uuid id) {
        return byId.containsKey(id) ? byId.get(id).name() : gone.get(id);
    }

    @Override
    public Set<Uuid> topicIds() {
        return byId.keySet();
    }

    @Override
    public Set<String> topicNames() {
        return byName.keySet();
    }

    @Override
    public Optional<TopicMetadata> topicMetadata(String name) {
        return Optional.ofNullable(byName.get(name));
    }

    @Override
    public Optional<TopicMetadata> topicMetadata(Uuid id) {
        return Optional.ofNullable(byId.get(id));
    }

    @Override
    public CoordinatorMetadataDelta emptyDelta() {
        return new Delta(List.of(), List.of(), this);
    }

    @Override
    public long version() {
        return version;
    }

    @Override
    public boolean isEmpty() {
        return byName.isEmpty();
    }
}
