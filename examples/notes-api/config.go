package main

import (
	"fmt"
	"log/slog"
	"math"
	"math/rand"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Vault is a directory of notes. Its id is part of every chunk id.
type Vault struct {
	ID   int
	Name string
	Root string
}

// Ranking holds the settings of the retriever; they do not affect the index.
type Ranking struct {
	VectorWeight  float64
	LexicalWeight float64
	NoVector      bool
	NoLexical     bool
	MinScore      float64
	Folders       bool
	FolderCount   int
	Noise         float64 // share of the calls that overlook chunks
	StartNoise    float64 // share of the questions that overlook chunks until the next start
	StartSeed     uint64  // which ones; 0 without StartNoise
}

// Config is everything the service can be told, read once at start.
type Config struct {
	Host        string
	Port        int
	Vaults      []Vault
	JSONLogs    bool
	LogLevel    slog.Level
	ChunkMax    int
	DropFolders []string // "vault/folder", sorted as given
	Ranking     Ranking
}

// SettingError says which environment variable is wrong, what it holds and what
// it may hold.
type SettingError struct{ Name, Found, Allowed string }

func (e *SettingError) Error() string {
	return fmt.Sprintf("%s: found %q, allowed is %s", e.Name, e.Found, e.Allowed)
}

// settings reads variables one by one and remembers the first that is wrong, so
// that LoadConfig is a plain list.
type settings struct {
	getenv func(string) string
	err    error
}

func (s *settings) fail(name, found, allowed string) {
	if s.err == nil {
		s.err = &SettingError{name, found, allowed}
	}
}

func (s *settings) text(name, fallback string) string {
	if v := strings.TrimSpace(s.getenv(name)); v != "" {
		return v
	}
	return fallback
}

func (s *settings) choice(name, fallback string, allowed ...string) string {
	found := s.text(name, fallback)
	for _, a := range allowed {
		if strings.EqualFold(found, a) {
			return a
		}
	}
	s.fail(name, found, "one of "+strings.Join(allowed, ", "))
	return fallback
}

func (s *settings) integer(name string, fallback, low, high int) int {
	found := s.text(name, strconv.Itoa(fallback))
	n, err := strconv.Atoi(found)
	if err != nil || n < low || n > high {
		s.fail(name, found, fmt.Sprintf("an integer from %d to %d", low, high))
		return fallback
	}
	return n
}

func (s *settings) number(name string, fallback, low, high float64) float64 {
	found := s.text(name, strconv.FormatFloat(fallback, 'g', -1, 64))
	x, err := strconv.ParseFloat(found, 64)
	if err != nil || math.IsNaN(x) || x < low || x > high {
		s.fail(name, found, fmt.Sprintf("a number from %g to %g", low, high))
		return fallback
	}
	return x
}

func (s *settings) list(name string) []string {
	var items []string
	for _, item := range strings.Split(s.getenv(name), ",") {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	return items
}

// vault resolves a vault's directory. A root that is a symbolic link is followed:
// it is what the operator named.
func (s *settings) vault(id int, name, variable string) Vault {
	found := s.text(variable, "")
	root, err := filepath.EvalSymlinks(found)
	info, statErr := os.Stat(found)
	if found == "" || err != nil || statErr != nil || !info.IsDir() {
		s.fail(variable, found, "the path of an existing directory")
	}
	return Vault{ID: id, Name: name, Root: root}
}

func (s *settings) dropFolders(name string) []string {
	folders := s.list(name)
	for i, folder := range folders {
		vault, path, _ := strings.Cut(strings.Trim(folder, "/"), "/")
		if (vault != "personal" && vault != "work") || path == "" {
			s.fail(name, folder, `a comma list of folders such as "work/Runbooks", each under personal/ or work/`)
		}
		folders[i] = vault + "/" + path
	}
	return folders
}

func (s *settings) disabled(name string) (vector, lexical bool) {
	for _, item := range s.list(name) {
		switch strings.ToLower(item) {
		case "vector":
			vector = true
		case "lexical":
			lexical = true
		default:
			s.fail(name, item, "a comma list of vector, lexical")
		}
	}
	return vector, lexical
}

// LoadConfig reads the settings from the environment. An empty variable counts
// as unset. The error is a *SettingError.
func LoadConfig(getenv func(string) string) (Config, error) {
	s := &settings{getenv: getenv}
	c := Config{
		Host: s.text("API_HOST", "127.0.0.1"),
		Port: s.integer("API_PORT", 9000, 0, 65535),
		Vaults: []Vault{
			s.vault(1, "personal", "VAULT_PERSONAL_PATH"),
			s.vault(2, "work", "VAULT_WORK_PATH"),
		},
		JSONLogs:    s.choice("LOG_FORMAT", "text", "text", "json") == "json",
		ChunkMax:    s.integer("NOTES_CHUNK_MAX", 700, 50, 100000),
		DropFolders: s.dropFolders("NOTES_DROP_FOLDERS"),
		Ranking: Ranking{
			VectorWeight:  s.number("NOTES_VECTOR_WEIGHT", 0.4, 0, 100),
			LexicalWeight: s.number("NOTES_LEXICAL_WEIGHT", 0.6, 0, 100),
			MinScore:      s.number("NOTES_MIN_SCORE", 0.2, 0, 1),
			Folders:       s.choice("NOTES_FOLDERS", "on", "on", "off") == "on",
			FolderCount:   s.integer("NOTES_FOLDER_COUNT", 6, 1, 1000),
			Noise:         s.number("NOTES_NOISE", 0, 0, 100) / 100,
			StartNoise:    s.number("NOTES_START_NOISE", 0, 0, 100) / 100,
		},
	}
	if c.Ranking.StartNoise > 0 {
		c.Ranking.StartSeed = rand.Uint64()
	}
	c.Ranking.NoVector, c.Ranking.NoLexical = s.disabled("NOTES_DISABLE")
	if c.Ranking.VectorWeight+c.Ranking.LexicalWeight == 0 {
		s.fail("NOTES_LEXICAL_WEIGHT", "0", "more than 0 when NOTES_VECTOR_WEIGHT is 0")
	}
	level := s.choice("LOG_LEVEL", "INFO", "DEBUG", "INFO", "WARN", "ERROR")
	if err := c.LogLevel.UnmarshalText([]byte(level)); err != nil {
		s.fail("LOG_LEVEL", level, "one of DEBUG, INFO, WARN, ERROR")
	}
	return c, s.err
}
