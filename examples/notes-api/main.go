// Command notes-api answers questions from two vaults of Markdown notes over
// HTTP. It is a small, deterministic stand-in for a RAG service: retrieval is
// real, generation is extractive, and nothing needs a network or a model.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"
)

const (
	exitFailure  = 1
	exitSettings = 2
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Getenv, os.Stdout, os.Stderr))
}

// run serves until ctx is done and returns the exit code: 2 for a wrong setting,
// 1 when the port cannot be had or the server fails.
func run(ctx context.Context, getenv func(string) string, stdout, stderr io.Writer) int {
	config, err := LoadConfig(getenv)
	if err != nil {
		fmt.Fprintln(stderr, "notes-api:", err)
		return exitSettings
	}
	log := newLogger(config, stdout)
	listener, err := net.Listen("tcp", net.JoinHostPort(config.Host, strconv.Itoa(config.Port)))
	if err != nil {
		fmt.Fprintln(stderr, "notes-api: API_HOST, API_PORT:", err)
		return exitFailure
	}
	log.Info("listening", "address", listener.Addr().String(), "port", listener.Addr().(*net.TCPAddr).Port)
	indexer := NewIndexer(config, log)
	indexer.warnUnknownDrops()
	indexer.Start(false) // before the first request, so that status never says idle too early
	if err := serve(ctx, listener, &Server{indexer: indexer, ranking: config.Ranking, log: log}); err != nil {
		fmt.Fprintln(stderr, "notes-api:", err)
		return exitFailure
	}
	log.Info("stopped")
	return 0
}

// serve answers requests until ctx is done, then lets running ones finish.
func serve(ctx context.Context, listener net.Listener, handler http.Handler) error {
	server := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       15 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       60 * time.Second,
		MaxHeaderBytes:    64 << 10,
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	if err := server.Shutdown(grace); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}

func newLogger(c Config, w io.Writer) *slog.Logger {
	options := &slog.HandlerOptions{Level: c.LogLevel}
	if c.JSONLogs {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}
