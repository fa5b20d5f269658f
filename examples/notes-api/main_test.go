package main

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// lockedBuffer collects the log of a running server.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// waitFor polls the log for a pattern and returns its first group.
func (l *lockedBuffer) waitFor(t *testing.T, pattern string) string {
	t.Helper()
	re := regexp.MustCompile(pattern)
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if m := re.FindStringSubmatch(l.String()); m != nil {
			return m[len(m)-1]
		}
	}
	t.Fatalf("%q never logged: %s", pattern, l)
	return ""
}

func TestRunServesUntilToldToStop(t *testing.T) {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	var log lockedBuffer
	var stderr bytes.Buffer
	env := environment(t, "API_PORT", "0", "LOG_FORMAT", "json", "NOTES_DROP_FOLDERS", "work/Misspelt")
	write(t, env("VAULT_PERSONAL_PATH"), map[string]string{"A.md": "# A\n## B\n"})
	code := make(chan int, 1)
	go func() { code <- run(ctx, env, &log, &stderr) }()
	port := log.waitFor(t, `"port":(\d+)`)
	log.waitFor(t, `"Indexing completed successfully","files":1,"chunks":2`)
	log.waitFor(t, `does not exist","folder":"work/Misspelt"`)
	response, err := http.Get("http://127.0.0.1:" + port + "/api/health")
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != 200 {
		t.Errorf("health is %d", response.StatusCode)
	}
	stop()
	select {
	case got := <-code:
		if got != 0 || stderr.Len() > 0 {
			t.Errorf("exit code %d, stderr %q", got, stderr.String())
		}
	case <-time.After(10 * time.Second):
		t.Fatal("does not stop")
	}
}

func TestRunRefusesToStart(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	port := strconv.Itoa(taken.Addr().(*net.TCPAddr).Port)
	tests := []struct {
		pairs   []string
		code    int
		message string
	}{
		{[]string{"VAULT_WORK_PATH", ""}, 2, `notes-api: VAULT_WORK_PATH: found "", allowed is the path of an existing directory`},
		{[]string{"NOTES_MIN_SCORE", "high"}, 2, `notes-api: NOTES_MIN_SCORE: found "high", allowed is a number from 0 to 1`},
		{[]string{"API_PORT", port}, 1, "notes-api: API_HOST, API_PORT: "},
	}
	for _, tt := range tests {
		var stdout, stderr bytes.Buffer
		code := run(context.Background(), environment(t, tt.pairs...), &stdout, &stderr)
		if code != tt.code || !strings.HasPrefix(stderr.String(), tt.message) || strings.Count(stderr.String(), "\n") != 1 {
			t.Errorf("%v: got %d %q", tt.pairs, code, stderr.String())
		}
	}
}
