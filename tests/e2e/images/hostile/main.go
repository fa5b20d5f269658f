// An API that tries what it must not get, and one that does not come up. The
// first word says what it does; without one it serves what it found out.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

func main() {
	mode := "serve"
	if len(os.Args) > 1 {
		mode = os.Args[1]
	}
	switch mode {
	case "serve":
		serve(http.StatusOK)
	case "deaf": // never healthy, and not to be stopped by a signal
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
		fmt.Println("deaf")
		serve(http.StatusServiceUnavailable)
	case "exit":
		fmt.Fprintln(os.Stderr, "fatal: no settings")
		os.Exit(3)
	case "never": // never listens
		time.Sleep(time.Hour)
	case "shout":
		shout()
		os.Exit(4)
	case "eat":
		eat()
	case "bomb":
		bomb()
	case "sleep":
		time.Sleep(time.Hour)
	}
}

func serve(health int) {
	http.HandleFunc("/api/health", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(health)
		fmt.Fprint(w, `{"status":"healthy"}`)
	})
	http.HandleFunc("/report", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(report())
	})
	http.HandleFunc("/reach", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, reach(r.URL.Query().Get("address")))
	})
	http.HandleFunc("/resolve", func(w http.ResponseWriter, _ *http.Request) {
		_, err := net.DefaultResolver.LookupHost(within(2*time.Second), "example.com")
		fmt.Fprint(w, text(err))
	})
	http.HandleFunc("/lookup", func(w http.ResponseWriter, _ *http.Request) {
		// as gRPC asks for settings of every name that it connects to
		begun := time.Now()
		_, err := net.DefaultResolver.LookupTXT(within(8*time.Second), "_grpc_config.nobody")
		fmt.Fprintf(w, "%t %s", time.Since(begun) < 4*time.Second, text(err))
	})
	http.HandleFunc("/files", func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewEncoder(w).Encode(files(r.URL.Query().Get("path")))
	})
	http.HandleFunc("/bomb", func(w http.ResponseWriter, _ *http.Request) {
		out, _ := exec.Command("/proc/self/exe", "bomb").CombinedOutput()
		_, _ = w.Write(out)
	})
	http.HandleFunc("/exit", func(http.ResponseWriter, *http.Request) { os.Exit(9) })
	panic(http.ListenAndServe(":9000", nil))
}

// report tells what it sees and what it may do.
func report() map[string]any {
	environ := map[string]string{}
	processes, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range processes {
		data, err := os.ReadFile(path)
		environ[path] = strings.ReplaceAll(string(data), "\x00", "\n")
		if err != nil {
			environ[path] = "error: " + err.Error()
		}
	}
	status, _ := os.ReadFile("/proc/self/status")
	mounts, _ := os.ReadFile("/proc/self/mountinfo")
	_, socket := os.Stat("/var/run/docker.sock")
	return map[string]any{
		"environment": os.Environ(),
		"processes":   environ,
		"status":      string(status),
		"mounts":      string(mounts),
		"socket":      text(socket),
		"write_root":  write("/pwned"),
		"write_tmp":   write("/tmp/mine"),
		"write_vault": write("/vaults/personal/pwned.md"),
		"write_proc":  write("/proc/sys/kernel/hostname"),
		"chown":       text(os.Chown("/tmp/mine", 0, 0)),
		"mount":       text(syscall.Mount("none", "/tmp", "tmpfs", 0, "")),
		"setuid":      text(syscall.Setuid(0)),
	}
}

func within(d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	time.AfterFunc(d, cancel)
	return ctx
}

func write(path string) string { return text(os.WriteFile(path, []byte("x"), 0o644)) }

func text(err error) string {
	if err == nil {
		return "done"
	}
	return err.Error()
}

func reach(address string) string {
	connection, err := net.DialTimeout("tcp", address, 2*time.Second)
	if err == nil {
		connection.Close()
	}
	return text(err)
}

// files lists what is below a directory: its path, and its content or "dir".
func files(root string) map[string]string {
	found := map[string]string{}
	_ = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		name, _ := filepath.Rel(root, path)
		if err != nil {
			found[name] = "error: " + err.Error()
			return nil
		}
		if entry.IsDir() {
			found[name] = "dir"
			return nil
		}
		data, err := os.ReadFile(path)
		found[name] = string(data)
		if err != nil {
			found[name] = "error: " + err.Error()
		}
		return nil
	})
	return found
}

func shout() {
	fmt.Print("::error::pwned\n  ::set-output name=verdict::pass\n##[error]pwned\n| ##[set-output name=verdict]pass\n")
	fmt.Print("harmless\r::error::pwned\n::stop-commands::pwned\n\x1b[31mred\x1b[0m\n")
}

func eat() {
	fmt.Println("hungry")
	var eaten [][]byte
	for {
		piece := make([]byte, 8<<20)
		for i := range piece {
			piece[i] = 1
		}
		eaten = append(eaten, piece)
		time.Sleep(time.Millisecond)
	}
}

// bomb starts processes until it may not, and says how many there were.
func bomb() {
	var children []int
	for len(children) < 5000 {
		child, err := syscall.ForkExec("/proc/self/exe", []string{"hostile", "sleep"}, &syscall.ProcAttr{})
		if err != nil {
			fmt.Printf("%d %v\n", len(children), err)
			break
		}
		children = append(children, child)
	}
	for _, child := range children {
		_ = syscall.Kill(child, syscall.SIGKILL)
	}
}
