package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"
)

// Server is the HTTP surface over an Indexer.
type Server struct {
	indexer *Indexer
	ranking Ranking
	log     *slog.Logger
}

// route is one path with the one method it answers.
type route struct {
	method string
	handle func(*Server, http.ResponseWriter, *http.Request)
}

// routes is matched exactly. Only GET is listed for health and status, so HEAD
// gets 405, as in helloworld.
var routes = map[string]route{
	"/api/health":       {http.MethodGet, (*Server).health},
	"/api/index":        {http.MethodPost, (*Server).index},
	"/api/index/status": {http.MethodGet, (*Server).indexStatus},
	"/api/v1/ask":       {http.MethodPost, (*Server).ask},
}

// ServeHTTP finds the route, turns a panic into a 500 and logs the request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	recorder := &statusRecorder{ResponseWriter: w, status: http.StatusOK}
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("handler panicked", "path", r.URL.Path, "error", fmt.Sprint(p))
			writeError(recorder, http.StatusInternalServerError, "Failed to process request")
		}
		s.log.Debug("request", "method", r.Method, "path", r.URL.Path, "status", recorder.status, "ms", time.Since(start).Milliseconds())
	}()
	target, known := routes[r.URL.Path]
	switch {
	case !known:
		writeError(recorder, http.StatusNotFound, "Not found")
	case r.Method != target.method:
		recorder.Header().Set("Allow", target.method)
		writeError(recorder, http.StatusMethodNotAllowed, "Method not allowed")
	default:
		target.handle(s, recorder, r)
	}
}

// statusRecorder remembers the status for the log.
type statusRecorder struct {
	http.ResponseWriter
	status int
}

func (r *statusRecorder) WriteHeader(status int) {
	r.status = status
	r.ResponseWriter.WriteHeader(status)
}

func (s *Server) health(w http.ResponseWriter, _ *http.Request) {
	body := struct {
		Status    string            `json:"status"`
		Timestamp string            `json:"timestamp"`
		Checks    map[string]string `json:"checks"`
		Issues    []string          `json:"issues,omitempty"`
	}{"healthy", time.Now().UTC().Format(time.RFC3339), map[string]string{"vector_store": "ok"}, nil}
	status := http.StatusOK
	if !s.indexer.Healthy() {
		status = http.StatusServiceUnavailable
		body.Status = "unhealthy"
		body.Checks["vector_store"] = "error"
		body.Issues = []string{"vector_store_unavailable"}
	}
	writeJSON(w, status, body)
}

func (s *Server) index(w http.ResponseWriter, r *http.Request) {
	force := r.URL.Query().Get("force") == "true"
	if !s.indexer.Start(force) {
		writeError(w, http.StatusConflict, "Indexing is already in progress")
		return
	}
	message := "Indexing started. Check server logs for progress."
	if force {
		message = "Force re-indexing started. Check server logs for progress."
	}
	writeJSON(w, http.StatusAccepted, map[string]string{"message": message, "status": "accepted"})
}

func (s *Server) indexStatus(w http.ResponseWriter, _ *http.Request) {
	running := s.indexer.Running()
	status := "idle"
	if running {
		status = "indexing"
	}
	writeJSON(w, http.StatusOK, map[string]any{"is_indexing": running, "status": status})
}

// isOn reads a query flag: "true" in any case, or "1".
func isOn(r *http.Request, name string) bool {
	v := r.URL.Query().Get(name)
	return v == "1" || strings.EqualFold(v, "true")
}

func writeError(w http.ResponseWriter, status int, message string) {
	writeJSON(w, status, map[string]string{"error": message})
}

// writeJSON encodes the whole body before the first byte is sent, so that a
// failure can still become a 500.
func writeJSON(w http.ResponseWriter, status int, body any) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(body); err != nil {
		panic(err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // the client is gone: nobody left to tell
}
