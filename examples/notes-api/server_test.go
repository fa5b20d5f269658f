package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"regexp"
	"sort"
	"strings"
	"sync"
	"testing"
)

// newTestServer returns an indexed server over the library.
func newTestServer(t *testing.T) *Server {
	t.Helper()
	c := testConfig(t, library)
	s := &Server{indexer: NewIndexer(c, quiet), ranking: c.Ranking, log: quiet}
	s.indexer.Start(false)
	waitIdle(t, s.indexer)
	return s
}

// call sends one request and decodes the JSON object that must come back.
func call(t *testing.T, h http.Handler, method, target, body string) (int, map[string]any) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(method, target, strings.NewReader(body)))
	if got := w.Header().Get("Content-Type"); got != "application/json" {
		t.Errorf("%s %s: content type %q", method, target, got)
	}
	var object map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &object); err != nil {
		t.Fatalf("%s %s: %v in %q", method, target, err, w.Body)
	}
	return w.Code, object
}

func TestStatusCodes(t *testing.T) {
	s := newTestServer(t)
	tests := []struct {
		method, target, body string
		status               int
		message              string
	}{
		{"HEAD", "/api/health", "", 405, "Method not allowed"},
		{"POST", "/api/health", "", 405, "Method not allowed"},
		{"GET", "/api/index", "", 405, "Method not allowed"},
		{"POST", "/api/index/status", "", 405, "Method not allowed"},
		{"GET", "/api/v1/ask", "", 405, "Method not allowed"},
		{"GET", "/api/v1/ask/", "", 404, "Not found"},
		{"GET", "/", "", 404, "Not found"},
		{"POST", "/api/v1/ask", "", 400, "Invalid request body"},
		{"POST", "/api/v1/ask", "{", 400, "Invalid request body"},
		{"POST", "/api/v1/ask", `[]`, 400, "Invalid request body"},
		{"POST", "/api/v1/ask", `{"question":1}`, 400, "Invalid request body"},
		{"POST", "/api/v1/ask", `{"question":"beef","k":1.5}`, 400, "Invalid request body"},
		{"POST", "/api/v1/ask", `{"question":"beef"} x`, 400, "Invalid request body"},
		{"POST", "/api/v1/ask", `null`, 400, "Question is required"},
		{"POST", "/api/v1/ask", `{"question":" \n"}`, 400, "Question is required"},
		{"POST", "/api/v1/ask", `{"question":"beef","vaults":["personal","Home"]}`, 400, "Invalid vault name: Home"},
		{"POST", "/api/v1/ask", `{"question":"beef","mode":"Hybrid"}`, 400, "Invalid mode: Hybrid (allowed: lexical, vector, hybrid)"},
		{"POST", "/api/v1/ask", `{"question":"` + strings.Repeat("x", maxBody) + `"}`, 413, "Request body too large"},
	}
	for _, tt := range tests {
		status, got := call(t, s, tt.method, tt.target, tt.body)
		if status != tt.status || !reflect.DeepEqual(got, map[string]any{"error": tt.message}) {
			t.Errorf("%s %s %.60s: got %d %v", tt.method, tt.target, tt.body, status, got)
		}
	}
}

func TestHealth(t *testing.T) {
	s := newTestServer(t)
	status, got := call(t, s, "GET", "/api/health", "")
	if stamp, _ := got["timestamp"].(string); !regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$`).MatchString(stamp) {
		t.Errorf("timestamp %q", stamp)
	}
	delete(got, "timestamp")
	if want := map[string]any{"status": "healthy", "checks": map[string]any{"vector_store": "ok"}}; status != 200 || !reflect.DeepEqual(got, want) {
		t.Errorf("got %d %v", status, got)
	}
}

// TestBeforeTheFirstIndex asks a server that has not indexed anything yet.
func TestBeforeTheFirstIndex(t *testing.T) {
	s := &Server{indexer: NewIndexer(testConfig(t, nil), quiet), log: quiet}
	status, got := call(t, s, "GET", "/api/health", "")
	delete(got, "timestamp")
	want := map[string]any{"status": "unhealthy", "checks": map[string]any{"vector_store": "error"}, "issues": []any{"vector_store_unavailable"}}
	if status != 503 || !reflect.DeepEqual(got, want) {
		t.Errorf("got %d %v", status, got)
	}
	if status, got := call(t, s, "POST", "/api/v1/ask", `{"question":"beef"}`); status != 503 || got["error"] != "Vector store unavailable" {
		t.Errorf("got %d %v", status, got)
	}
}

func TestIndexRoutes(t *testing.T) {
	s := newTestServer(t)
	idle := map[string]any{"is_indexing": false, "status": "idle"}
	if status, got := call(t, s, "GET", "/api/index/status", ""); status != 200 || !reflect.DeepEqual(got, idle) {
		t.Errorf("got %d %v", status, got)
	}
	s.indexer.running.Store(true)
	busy := map[string]any{"is_indexing": true, "status": "indexing"}
	if status, got := call(t, s, "GET", "/api/index/status", ""); status != 200 || !reflect.DeepEqual(got, busy) {
		t.Errorf("got %d %v", status, got)
	}
	if status, got := call(t, s, "POST", "/api/index?force=true", ""); status != 409 || got["error"] != "Indexing is already in progress" {
		t.Errorf("got %d %v", status, got)
	}
	s.indexer.running.Store(false)
	before := s.indexer.Index()
	for _, target := range []string{"/api/index", "/api/index?force=true"} {
		if status, got := call(t, s, "POST", target, ""); status != 202 || got["status"] != "accepted" || got["message"] == "" {
			t.Errorf("got %d %v", status, got)
		}
		waitIdle(t, s.indexer)
	}
	key := "personal/Home.md"
	if now := s.indexer.Index(); now == before || now.noteAt(key) == before.noteAt(key) {
		t.Error("force reused the old index")
	}
}

// TestOnePassAtATime starts passes from many sides: every call is answered by
// 202 or 409, and asking meanwhile always works.
func TestOnePassAtATime(t *testing.T) {
	s := newTestServer(t)
	var wait sync.WaitGroup
	for i := 0; i < 20; i++ {
		wait.Add(2)
		go func() {
			defer wait.Done()
			if status, _ := call(t, s, "POST", "/api/index?force=true", ""); status != 202 && status != 409 {
				t.Errorf("index: %d", status)
			}
		}()
		go func() {
			defer wait.Done()
			if status, got := call(t, s, "POST", "/api/v1/ask", `{"question":"minced beef"}`); status != 200 || got["abstained"] != nil {
				t.Errorf("ask: %d %v", status, got)
			}
		}()
	}
	wait.Wait()
	waitIdle(t, s.indexer)
}

func keys(object any) string {
	var list []string
	for k := range object.(map[string]any) {
		list = append(list, k)
	}
	sort.Strings(list)
	return strings.Join(list, " ")
}

func TestAnswerShape(t *testing.T) {
	s := newTestServer(t)
	for _, debug := range []string{"", "?debug=false", "?debug=yes"} {
		status, got := call(t, s, "POST", "/api/v1/ask"+debug, `{"question":"How much minced beef?","unknown":[1]}`)
		if status != 200 || keys(got) != "answer references" {
			t.Errorf("%s: got %d %v", debug, status, got)
		}
		if reference := got["references"].([]any)[0]; keys(reference) != "chunk_index heading_path rel_path vault" {
			t.Errorf("got %v", reference)
		}
	}
	for _, debug := range []string{"?debug=true", "?debug=TRUE", "?debug=1"} {
		if _, got := call(t, s, "POST", "/api/v1/ask"+debug, `{"question":"How much minced beef?"}`); keys(got) != "answer debug references" {
			t.Errorf("%s: got %v", debug, keys(got))
		}
	}
}

func TestDebugShape(t *testing.T) {
	s := newTestServer(t)
	_, got := call(t, s, "POST", "/api/v1/ask?debug=1", `{"question":"How much minced beef?","k":20}`)
	debug := got["debug"].(map[string]any)
	if keys(debug) != "folder_selection indexing_coverage latency retrieved_chunks" {
		t.Errorf("got %s", keys(debug))
	}
	if got := keys(debug["latency"]); got != "folder_selection_ms generation_ms judge_ms retrieval_ms total_ms" {
		t.Errorf("got %s", got)
	}
	if got := keys(debug["folder_selection"]); got != "available_folders selected_folders" {
		t.Errorf("got %s", got)
	}
	if got := keys(debug["indexing_coverage"]); got != "chunk_token_stats chunker_version chunks_attempted chunks_embedded chunks_skipped docs_processed docs_with_0_chunks index_version" {
		t.Errorf("got %s", got)
	}
	chunks := debug["retrieved_chunks"].([]any)
	first := chunks[0].(map[string]any)
	if keys(first) != "chunk_id heading_path rank rel_path score_final score_lexical score_vector text" {
		t.Errorf("got %s", keys(first))
	}
	id := chunkID(1, first["rel_path"].(string), first["heading_path"].(string), first["text"].(string))
	if first["chunk_id"] != id || first["rank"] != 1.0 {
		t.Errorf("got %v", first)
	}
	_, got = call(t, s, "POST", "/api/v1/ask?debug=1", `{"question":"How much minced beef?","mode":"vector"}`)
	first = got["debug"].(map[string]any)["retrieved_chunks"].([]any)[0].(map[string]any)
	if keys(first) != "chunk_id heading_path rank rel_path score_final score_vector text" {
		t.Errorf("a score_lexical of 0 is present: %v", first)
	}
}

func TestAbstention(t *testing.T) {
	s := newTestServer(t)
	_, got := call(t, s, "POST", "/api/v1/ask?debug=1", `{"question":"zzz qqq"}`)
	if keys(got) != "abstain_reason abstained answer debug references" || got["answer"] != abstention || got["abstained"] != true || got["abstain_reason"] != "no_relevant_context" {
		t.Errorf("got %v", got)
	}
	if refs, ok := got["references"].([]any); !ok || len(refs) != 0 {
		t.Errorf("references are %v", got["references"])
	}
	if chunks, ok := got["debug"].(map[string]any)["retrieved_chunks"].([]any); !ok || len(chunks) != 0 {
		t.Errorf("retrieved_chunks is not an empty list")
	}
	s.ranking.MinScore = 1
	_, got = call(t, s, "POST", "/api/v1/ask?debug=1", `{"question":"minced beef"}`)
	if chunks := got["debug"].(map[string]any)["retrieved_chunks"].([]any); got["abstained"] != true || len(chunks) == 0 {
		t.Error("candidates below the threshold are not listed")
	}
}

func TestRetrievalOnly(t *testing.T) {
	s := newTestServer(t)
	status, got := call(t, s, "POST", "/api/v1/ask?retrieval_only=true", `{"question":"minced beef"}`)
	if want := map[string]any{"answer": "", "references": []any{}}; status != 200 || !reflect.DeepEqual(got, want) {
		t.Errorf("got %d %v", status, got)
	}
	_, got = call(t, s, "POST", "/api/v1/ask?retrieval_only=true", `{"question":"zzz"}`)
	want := map[string]any{"answer": "", "references": []any{}, "abstained": true, "abstain_reason": "no_relevant_context"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v", got)
	}
}

// TestSameRequestSameBytes asks 50 times at once, with indexing going on, and
// allows nothing but the latency to differ.
func TestSameRequestSameBytes(t *testing.T) {
	server := httptest.NewServer(newTestServer(t))
	defer server.Close()
	post := func(path string) string {
		response, err := http.Post(server.URL+path, "application/json", strings.NewReader(`{"question":"restore the replica, the beef and the boiler"}`))
		if err != nil {
			t.Error(err)
			return ""
		}
		defer response.Body.Close()
		body, _ := io.ReadAll(response.Body)
		return regexp.MustCompile(`"latency":\{[^}]*\}`).ReplaceAllString(string(body), "")
	}
	want := post("/api/v1/ask?debug=1")
	var wait sync.WaitGroup
	for i := 0; i < 50; i++ {
		wait.Add(1)
		go func() {
			defer wait.Done()
			post("/api/index?force=true")
			if got := post("/api/v1/ask?debug=1"); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		}()
	}
	wait.Wait()
}

// failingBody panics when it is read, as a bug in a handler would.
type failingBody struct{}

func (failingBody) Read([]byte) (int, error) { panic("a bug") }

func TestPanicsBecome500(t *testing.T) {
	w := httptest.NewRecorder()
	newTestServer(t).ServeHTTP(w, httptest.NewRequest("POST", "/api/v1/ask", failingBody{}))
	if w.Code != 500 || !bytes.Contains(w.Body.Bytes(), []byte(`{"error":"Failed to process request"}`)) {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
}

func BenchmarkAsk(b *testing.B) {
	lexicon := strings.Fields("alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma tau")
	ix := &Index{}
	for i := 0; i < 1000; i++ {
		text := ""
		for j := 0; j < 60; j++ {
			text += lexicon[(i*j+j)%len(lexicon)] + fmt.Sprint(i%7) + " "
		}
		ix.chunks = append(ix.chunks, newChunk(noteFile{vault: Vault{ID: 1, Name: "personal"}, relPath: fmt.Sprint(i)}, piece{"# H", text}, 0))
	}
	ix.folders = map[string][]string{"personal": {"personal/"}}
	ix.train()
	b.ResetTimer()
	for i := 0; i < b.N; i++ {
		ix.retrieve(Query{Question: "where does alpha3 meet kappa2 and rho6?", Mode: "hybrid"}, Ranking{VectorWeight: 1, LexicalWeight: 1, Folders: true, FolderCount: 6})
	}
}
