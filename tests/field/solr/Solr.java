import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.solr.embedded.JettyConfig;
import org.apache.solr.embedded.JettySolrRunner;

/** Solr with one core `notes` in this process: Solr HOME_DIRECTORY PORT. */
public class Solr {
    public static void main(String[] arguments) throws Exception {
        System.setProperty("solr.security.manager.enabled", "false");
        JettyConfig config = JettyConfig.builder().setContext("/solr").setPort(Integer.parseInt(arguments[1])).build();
        JettySolrRunner runner = new JettySolrRunner(arguments[0], config);
        runner.start();
        Thread.currentThread().join();
    }
}
