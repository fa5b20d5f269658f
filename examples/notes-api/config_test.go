package main

import (
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
)

// environment returns a getenv over two fresh vault directories plus pairs of
// names and values.
func environment(t *testing.T, pairs ...string) func(string) string {
	t.Helper()
	env := map[string]string{"VAULT_PERSONAL_PATH": t.TempDir(), "VAULT_WORK_PATH": t.TempDir()}
	for i := 0; i < len(pairs); i += 2 {
		env[pairs[i]] = pairs[i+1]
	}
	return func(name string) string { return env[name] }
}

func TestDefaults(t *testing.T) {
	c, err := LoadConfig(environment(t, "API_PORT", "", "LOG_FORMAT", " "))
	if err != nil {
		t.Fatal(err)
	}
	if c.Host != "127.0.0.1" || c.Port != 9000 || c.ChunkMax != 700 || c.JSONLogs || c.LogLevel != slog.LevelInfo || len(c.DropFolders) != 0 {
		t.Errorf("got %+v", c)
	}
	want := Ranking{VectorWeight: 0.4, LexicalWeight: 0.6, MinScore: 0.2, Folders: true, FolderCount: 6}
	if c.Ranking != want {
		t.Errorf("got %+v, want %+v", c.Ranking, want)
	}
	if c.Vaults[0].ID != 1 || c.Vaults[0].Name != "personal" || c.Vaults[1].ID != 2 || c.Vaults[1].Name != "work" {
		t.Errorf("got %+v", c.Vaults)
	}
}

func TestEverySettingIsRead(t *testing.T) {
	c, err := LoadConfig(environment(t,
		"API_HOST", "0.0.0.0", "API_PORT", "0", "LOG_FORMAT", "JSON", "LOG_LEVEL", "debug",
		"NOTES_VECTOR_WEIGHT", "1", "NOTES_LEXICAL_WEIGHT", "0.25", "NOTES_DISABLE", "Vector, lexical", "NOTES_CHUNK_MAX", "50",
		"NOTES_DROP_FOLDERS", "work/Runbooks/, personal/A/B", "NOTES_FOLDERS", "off", "NOTES_FOLDER_COUNT", "2", "NOTES_MIN_SCORE", "0",
		"NOTES_NOISE", "3"))
	if err != nil {
		t.Fatal(err)
	}
	if c.Host != "0.0.0.0" || c.Port != 0 || !c.JSONLogs || c.LogLevel != slog.LevelDebug || c.ChunkMax != 50 {
		t.Errorf("got %+v", c)
	}
	if got := strings.Join(c.DropFolders, "|"); got != "work/Runbooks|personal/A/B" {
		t.Errorf("drop folders are %q", got)
	}
	want := Ranking{VectorWeight: 1, LexicalWeight: 0.25, NoVector: true, NoLexical: true, FolderCount: 2, Noise: 0.03}
	if c.Ranking != want {
		t.Errorf("got %+v, want %+v", c.Ranking, want)
	}
}

func TestWrongSettingsNameTheVariable(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	write(t, filepath.Dir(file), map[string]string{"file": ""})
	tests := []struct{ name, value, allowed string }{
		{"API_PORT", "http", "an integer from 0 to 65535"},
		{"API_PORT", "65536", "an integer from 0 to 65535"},
		{"LOG_FORMAT", "xml", "one of text, json"},
		{"LOG_LEVEL", "loud", "one of DEBUG, INFO, WARN, ERROR"},
		{"VAULT_PERSONAL_PATH", "", "an existing directory"},
		{"VAULT_WORK_PATH", "/does/not/exist", "an existing directory"},
		{"VAULT_WORK_PATH", file, "an existing directory"},
		{"NOTES_VECTOR_WEIGHT", "NaN", "a number from 0 to 100"},
		{"NOTES_LEXICAL_WEIGHT", "-1", "a number from 0 to 100"},
		{"NOTES_DISABLE", "hybrid", "vector, lexical"},
		{"NOTES_CHUNK_MAX", "49", "an integer from 50 to 100000"},
		{"NOTES_DROP_FOLDERS", "Runbooks", `such as "work/Runbooks"`},
		{"NOTES_DROP_FOLDERS", "work/", `such as "work/Runbooks"`},
		{"NOTES_FOLDERS", "maybe", "one of on, off"},
		{"NOTES_FOLDER_COUNT", "0", "an integer from 1 to 1000"},
		{"NOTES_MIN_SCORE", "1.5", "a number from 0 to 1"},
		{"NOTES_NOISE", "101", "a number from 0 to 100"},
		{"NOTES_START_NOISE", "-1", "a number from 0 to 100"},
	}
	for _, tt := range tests {
		_, err := LoadConfig(environment(t, tt.name, tt.value))
		var wrong *SettingError
		if !errors.As(err, &wrong) {
			t.Errorf("%s=%q: got %v", tt.name, tt.value, err)
			continue
		}
		message := err.Error()
		if wrong.Name != tt.name || !strings.Contains(message, tt.allowed) || !strings.Contains(message, tt.value) || strings.Contains(message, "\n") {
			t.Errorf("%s=%q: the message is %q", tt.name, tt.value, message)
		}
	}
	if _, err := LoadConfig(environment(t, "NOTES_VECTOR_WEIGHT", "0", "NOTES_LEXICAL_WEIGHT", "0")); err == nil {
		t.Error("two weights of 0 were accepted")
	}
}
