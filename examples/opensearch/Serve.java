import org.codelibs.opensearch.runner.OpenSearchRunner;

/** OpenSearch with one node in this process: Serve DATA_DIRECTORY PORT. */
public class Serve {
    public static void main(String[] arguments) throws Exception {
        OpenSearchRunner runner = new OpenSearchRunner();
        runner.onBuild((number, settings) -> {
            settings.put("http.port", arguments[1]);
            settings.put("discovery.type", "single-node");
        });
        runner.build(OpenSearchRunner.newConfigs().basePath(arguments[0]).numOfNode(1).clusterName("notes"));
        Thread.currentThread().join();
    }
}
