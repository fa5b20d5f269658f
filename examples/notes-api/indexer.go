package main

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"
)

// Indexer owns the current index and lets one pass run at a time. Readers get
// the old or the new index, never a half-built one.
type Indexer struct {
	config  Config
	log     *slog.Logger
	current atomic.Pointer[Index]
	running atomic.Bool
	healthy atomic.Bool // the last pass produced an index
}

// NewIndexer returns an indexer without an index; Start makes one.
func NewIndexer(c Config, log *slog.Logger) *Indexer {
	return &Indexer{config: c, log: log}
}

// warnUnknownDrops logs every dropped folder that does not exist: a misspelt one
// would quietly leave everything in.
func (x *Indexer) warnUnknownDrops() {
	for _, drop := range x.config.DropFolders {
		for _, v := range x.config.Vaults {
			folder, here := strings.CutPrefix(drop, v.Name+"/")
			if !here {
				continue
			}
			if _, err := os.Stat(filepath.Join(v.Root, filepath.FromSlash(folder))); err != nil {
				x.log.Warn("NOTES_DROP_FOLDERS names a folder that does not exist", "folder", drop)
			}
		}
	}
}

// Index is the current snapshot, nil before the first pass has ended.
func (x *Indexer) Index() *Index { return x.current.Load() }

// Running says whether a pass is under way, the one at start included.
func (x *Indexer) Running() bool { return x.running.Load() }

// Healthy says whether the index answers for what was on disk at the last pass.
func (x *Indexer) Healthy() bool { return x.healthy.Load() }

// Start begins a pass in the background and says whether it did: false means
// that one is running already. Testing and setting the flag is one step.
func (x *Indexer) Start(force bool) bool {
	if !x.running.CompareAndSwap(false, true) {
		return false
	}
	go func() {
		defer x.running.Store(false)
		x.pass(force)
	}()
	return true
}

// pass builds an index and swaps it in. A failed pass keeps the old index, but
// health reports it. Notes that are gone from disk are gone from the new index;
// force only means that no chunk of the old one is reused.
func (x *Indexer) pass(force bool) {
	start := time.Now()
	defer func() {
		if r := recover(); r != nil {
			x.healthy.Store(false)
			x.log.Error("Indexing failed", "error", fmt.Sprint(r))
		}
	}()
	old := x.current.Load()
	if force {
		old = nil
	}
	ix, err := buildIndex(x.config, old, x.log)
	if ix == nil {
		x.healthy.Store(false)
		x.log.Error("Indexing failed", "error", err.Error())
		return
	}
	x.current.Store(ix)
	x.healthy.Store(true)
	counts := []any{"files", len(ix.notes), "chunks", len(ix.chunks), "ms", time.Since(start).Milliseconds()}
	if err != nil {
		x.log.Warn("Indexing completed with errors", append(counts, "error", err.Error())...)
		return
	}
	x.log.Info("Indexing completed successfully", counts...)
}
