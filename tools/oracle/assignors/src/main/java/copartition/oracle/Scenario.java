package copartition.oracle;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;
import org.apache.kafka.common.TopicPartition;

/** One leader's lifetime: rebalances of a group, one after the other. */
final class Scenario {
    private static final Duration PATIENCE = Duration.ofSeconds(10);

    /** What decides: one instance lives as long as one leader, or one coordinator. */
    interface Leader {
        /** The member with its memory of earlier steps filled in. */
        Inputs.Member recall(Inputs.Member member);

        Answer assign(List<Inputs.Topic> topics, List<Inputs.Member> members);

        /** Lets the members take the answer home. */
        void handOut(List<Inputs.Member> members, Answer answer, int generation);
    }

    /**
     * @param lists partitions of each member, in the order of the JVM's map
     * @param transferring partitions held back for one round, with the member that will get them; null if not cooperative
     */
    record Answer(Map<String, List<TopicPartition>> lists, Map<TopicPartition, String> transferring) {
        void writeTo(ObjectNode node) {
            ArrayNode assignment = node.putArray("assignment");
            lists.forEach((member, partitions) -> assignment.addArray().add(member).add(Inputs.runs(partitions)));
            if (transferring != null) {
                ArrayNode transfers = node.putArray("transferring");
                transferring.forEach((partition, member) ->
                    transfers.addArray().add(partition.topic()).add(partition.partition()).add(member));
            }
        }
    }

    static ObjectNode run(JsonNode request) {
        Leader leader = leader(request.get("assignor").textValue());
        ObjectNode answers = Oracle.JSON.createObjectNode();
        ArrayNode steps = answers.putArray("steps");
        int generation = 0;
        for (JsonNode step : request.get("steps")) {
            generation = step.has("generation") ? step.get("generation").intValue() : generation + 1;
            List<Inputs.Topic> topics = new ArrayList<>();
            step.get("topics").forEach(topic -> topics.add(Inputs.Topic.of(topic)));
            List<Inputs.Member> members = new ArrayList<>();
            for (JsonNode node : step.get("members")) {
                Inputs.Member member = Inputs.Member.of(node);
                members.add(member.carry() == null ? member : leader.recall(member));
            }
            ObjectNode result = steps.addObject();
            ArrayNode resolved = result.putArray("members");
            members.forEach(member -> resolved.add(member.toJson()));
            try {
                Answer answer = withinReason(() -> leader.assign(topics, members));
                answer.writeTo(result);
                leader.handOut(members, answer, generation);
            } catch (TimeoutException e) {
                result.putObject("error").putNull("exception").put("message", "still running after " + PATIENCE.toSeconds() + " s");
                answers.put("endless", true);
                return answers;
            } catch (RuntimeException e) {
                result.set("error", Oracle.thrown(e));
            }
        }
        return answers;
    }

    /** Some groups send an assignor round in circles for ever. */
    private static Answer withinReason(Supplier<Answer> call) throws TimeoutException {
        FutureTask<Answer> task = new FutureTask<>(call::get);
        Thread thread = new Thread(task, "assign");
        thread.setDaemon(true);
        thread.start();
        try {
            return task.get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
        } catch (ExecutionException e) {
            if (e.getCause() instanceof RuntimeException cause) {
                throw cause;
            }
            throw new AssertionError(e.getCause());
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    static Leader leader(String assignor) {
        return switch (assignor) {
            case "uniform", "broker-range", "simple" -> new BrokerGroup(assignor);
            default -> new ClientGroup(assignor);
        };
    }

    private Scenario() {}
}
