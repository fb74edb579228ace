// Puts records with the Kinesis Producer Library and prints the time and CPU time.
// usage: KplDriver PORT COUNT     PORT: of a TLS server on localhost
import com.google.common.util.concurrent.FutureCallback;
import com.google.common.util.concurrent.Futures;
import com.google.common.util.concurrent.MoreExecutors;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicLong;
import software.amazon.awssdk.auth.credentials.AwsBasicCredentials;
import software.amazon.awssdk.auth.credentials.StaticCredentialsProvider;
import software.amazon.kinesis.producer.KinesisProducer;
import software.amazon.kinesis.producer.KinesisProducerConfiguration;
import software.amazon.kinesis.producer.UserRecordResult;

public final class KplDriver {
  // As workload.py.
  private static final int SIZE = 200;
  private static final int POOL = 1 << 23;
  private static final long SEED = 0x9E3779B97F4A7C15L;
  private static final int OUTSTANDING = 50_000;
  private static final double TICKS_PER_SECOND = 100; // of /proc on Linux

  private final KinesisProducer producer;
  private final byte[] pool = pool();
  private final String[] keys = new String[256];
  private final Semaphore room = new Semaphore(OUTSTANDING);
  private final AtomicLong stored = new AtomicLong();

  private KplDriver(int port) {
    for (int i = 0; i < keys.length; ++i) {
      keys[i] = "pk-" + i;
    }
    producer = new KinesisProducer(configuration(port));
  }

  private static byte[] pool() {
    ByteBuffer numbers = ByteBuffer.allocate(POOL + SIZE).order(ByteOrder.LITTLE_ENDIAN);
    long state = SEED;
    while (numbers.hasRemaining()) {
      state ^= state << 13;
      state ^= state >>> 7;
      state ^= state << 17;
      numbers.putLong(state);
    }
    return numbers.array();
  }

  private static KinesisProducerConfiguration configuration(int port) {
    return new KinesisProducerConfiguration()
        .setRegion("us-east-1")
        .setKinesisEndpoint("localhost")
        .setKinesisPort(port)
        .setVerifyCertificate(false)
        .setCredentialsProvider(
            StaticCredentialsProvider.create(AwsBasicCredentials.create("AKIDEXAMPLE", "none")))
        .setMetricsLevel("none")
        .setLogLevel("warning")
        .setRateLimit(1_000_000_000L) // never met
        .setRecordMaxBufferedTime(100);
  }

  private final FutureCallback<UserRecordResult> done =
      new FutureCallback<>() {
        @Override
        public void onSuccess(UserRecordResult result) {
          stored.incrementAndGet();
          room.release();
        }

        @Override
        public void onFailure(Throwable failure) {
          room.release();
        }
      };

  private void putAll(long first, long count) throws InterruptedException {
    for (long i = first; i < first + count; ++i) {
      room.acquire();
      ByteBuffer data = ByteBuffer.wrap(pool, (int) (i % POOL), SIZE).slice();
      Futures.addCallback(
          producer.addUserRecord("bench", keys[(int) (i % 256)], data),
          done,
          MoreExecutors.directExecutor());
    }
    producer.flush();
    room.acquire(OUTSTANDING);
    room.release(OUTSTANDING);
  }

  /** User and system time of a process, all threads. */
  private static double cpuSeconds(long process) {
    try {
      String text = Files.readString(Path.of("/proc/" + process + "/stat"));
      String[] fields = text.substring(text.lastIndexOf(')') + 2).split(" ");
      return (Long.parseLong(fields[11]) + Long.parseLong(fields[12])) / TICKS_PER_SECOND;
    } catch (IOException failure) {
      throw new IllegalStateException("a process ended in the middle", failure);
    }
  }

  private static double childCpuSeconds() {
    return ProcessHandle.current()
        .descendants()
        .mapToDouble(child -> cpuSeconds(child.pid()))
        .sum();
  }

  private void measure(long count) throws InterruptedException {
    final long warmUp = count / 2; // the virtual machine compiles meanwhile
    putAll(0, warmUp);
    final long self = ProcessHandle.current().pid();
    final double before = cpuSeconds(self);
    final double childBefore = childCpuSeconds();
    final long begun = System.nanoTime();
    stored.set(0);
    putAll(warmUp, count);
    final double wall = (System.nanoTime() - begun) / 1e9;
    final double child = childCpuSeconds() - childBefore;
    System.out.printf(
        "{\"records\": %d, \"stored\": %d, \"wall_s\": %.6f, \"cpu_s\": %.6f, "
            + "\"child_cpu_s\": %.6f}%n",
        count, stored.get(), wall, cpuSeconds(self) - before + child, child);
  }

  public static void main(String[] arguments) throws InterruptedException {
    KplDriver driver = new KplDriver(Integer.parseInt(arguments[0]));
    driver.measure(Long.parseLong(arguments[1]));
    driver.producer.destroy();
    System.exit(0);
  }
}
