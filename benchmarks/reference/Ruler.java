import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import software.amazon.event.ruler.Machine;

/** Rules (a name, a tab, JSON; a name may come again) and events (JSON) line by line: builds, then matches in turns. */
public final class Ruler {
    public static void main(String[] args) throws Exception {
        var clock = ManagementFactory.getThreadMXBean();
        Machine machine = Machine.builder().build();
        long start = clock.getCurrentThreadCpuTime();
        for (String line : Files.readAllLines(Path.of(args[0]))) {
            int tab = line.indexOf('\t');
            machine.addRule(line.substring(0, tab), line.substring(tab + 1));
        }
        System.out.println("built " + (clock.getCurrentThreadCpuTime() - start));
        byte[][] events = Files.readAllLines(Path.of(args[1])).stream()
            .map(line -> line.getBytes(StandardCharsets.UTF_8)).toArray(byte[][]::new);
        for (int turn = 0; turn < Integer.parseInt(args[2]); turn++) {
            long matches = 0;
            start = clock.getCurrentThreadCpuTime();
            for (byte[] event : events) {
                List<String> found = machine.rulesForJSONEvent(new String(event, StandardCharsets.UTF_8));
                matches += found.size();
            }
            System.out.println("turn " + (clock.getCurrentThreadCpuTime() - start) + " " + matches);
        }
    }
}
