package copartition.oracle;

import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.coordinator.common.runtime.CoordinatorExecutor;
import org.apache.kafka.coordinator.common.runtime.CoordinatorRecord;
import org.apache.kafka.coordinator.common.runtime.CoordinatorResult;
import org.apache.kafka.coordinator.common.runtime.CoordinatorTimer;

/** A coordinator's clock, timers and background thread, all of which stand still between two requests. */
final class VirtualTime implements Time {
    private record Timeout(long at, long turn, CoordinatorTimer.TimeoutOperation<CoordinatorRecord> operation) { }

    private final Consumer<CoordinatorResult<Void, CoordinatorRecord>> write;
    private final Map<String, Timeout> timeouts = new HashMap<>();
    private final Map<String, Supplier<CoordinatorResult<Void, CoordinatorRecord>>> tasks = new HashMap<>();
    private final Queue<String> turns = new ArrayDeque<>();
    private long now = 1; // 0 stands for "never" in the coordinator's records
    private long turn = 0;

    VirtualTime(Consumer<CoordinatorResult<Void, CoordinatorRecord>> write) {
        this.write = write;
    }

    /** Lets everything happen that is due up to this time, in order. */
    void advanceTo(long at) {
        while (true) {
            String next = null;
            for (String key : timeouts.keySet()) {
                if (timeouts.get(key).at <= at && (next == null || earlier(timeouts.get(key), timeouts.get(next)))) {
                    next = key;
                }
            }
            if (next == null) {
                now = at;
                return;
            }
            Timeout due = timeouts.remove(next);
            now = Math.max(now, due.at);
            write.accept(due.operation.generateRecords());
            settle();
        }
    }

    /** Lets the background thread do what it was given. */
    void settle() {
        while (!turns.isEmpty()) {
            write.accept(tasks.remove(turns.remove()).get());
        }
    }

    private static boolean earlier(Timeout one, Timeout other) {
        return one.at != other.at ? one.at < other.at : one.turn < other.turn;
    }

    CoordinatorTimer<CoordinatorRecord> timer() {
        return new CoordinatorTimer<>() {
            @Override
            public void schedule(
                String key, long delay, TimeUnit unit, boolean retry, TimeoutOperation<CoordinatorRecord> operation
            ) {
                timeouts.put(key, new Timeout(now + unit.toMillis(delay), turn++, operation));
            }

            @Override
            public void schedule(
                String key,
                long delay,
                TimeUnit unit,
                boolean retry,
                long retryBackoff,
                TimeoutOperation<CoordinatorRecord> operation
            ) {
                schedule(key, delay, unit, retry, operation);
            }

            @Override
            public void scheduleIfAbsent(
                String key, long delay, TimeUnit unit, boolean retry, TimeoutOperation<CoordinatorRecord> operation
            ) {
                if (!timeouts.containsKey(key)) {
                    schedule(key, delay, unit, retry, operation);
                }
            }

            @Override
            public void cancel(String key) {
                timeouts.remove(key);
            }

            @Override
            public boolean isScheduled(String key) {
                return timeouts.containsKey(key);
            }
        };
    }

    CoordinatorExecutor<CoordinatorRecord> executor() {
        return new CoordinatorExecutor<>() {
            @Override
            public <R> boolean schedule(String key, TaskRunnable<R> task, TaskOperation<CoordinatorRecord, R> operation) {
                if (tasks.containsKey(key)) {
                    return false;
                }
                turns.add(key);
                tasks.put(key, () -> {
                    R result;
                    try {
                        result = task.run();
                    } catch (Throwable e) {
                        return operation.onComplete(null, e);
                    }
                    return operation.onComplete(result, null);
                });
                return true;
            }

            @Override
            public boolean isScheduled(String key) {
                return tasks.containsKey(key);
            }

            @Override
            public void cancel(String key) {
                turns.remove(key);
                tasks.remove(key);
            }
        };
    }

    @Override
    public long milliseconds() {
        return now;
    }

    @Override
    public long nanoseconds() {
        return TimeUnit.MILLISECONDS.toNanos(now);
    }

    @Override
    public void sleep(long ms) {
        throw new UnsupportedOperationException();
    }
}
