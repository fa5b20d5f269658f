package main

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"
)

// maxBody bounds a request in bytes.
const maxBody = 1 << 20

// vaultNames are the two vaults there are, in the order of their ids.
var vaultNames = []string{"personal", "work"}

type askRequest struct {
	Question string   `json:"question"`
	Vaults   []string `json:"vaults"`
	Folders  []string `json:"folders"`
	K        int      `json:"k"`
	Detail   string   `json:"detail"`
	Mode     string   `json:"mode"`
}

type askResponse struct {
	Answer        string      `json:"answer"`
	References    []Reference `json:"references"`
	Abstained     bool        `json:"abstained,omitempty"`
	AbstainReason string      `json:"abstain_reason,omitempty"`
	Debug         *debugInfo  `json:"debug,omitempty"`
}

type debugInfo struct {
	RetrievedChunks  []retrievedChunk `json:"retrieved_chunks"`
	FolderSelection  folderSelection  `json:"folder_selection"`
	Latency          latency          `json:"latency"`
	IndexingCoverage Coverage         `json:"indexing_coverage"`
}

type retrievedChunk struct {
	ChunkID      string  `json:"chunk_id"`
	RelPath      string  `json:"rel_path"`
	HeadingPath  string  `json:"heading_path"`
	ScoreVector  float64 `json:"score_vector"`
	ScoreLexical float64 `json:"score_lexical,omitempty"`
	ScoreFinal   float64 `json:"score_final"`
	Text         string  `json:"text"`
	Rank         int     `json:"rank"`
}

type folderSelection struct {
	SelectedFolders  []string `json:"selected_folders"`
	AvailableFolders []string `json:"available_folders,omitempty"`
}

type latency struct {
	FolderSelectionMs int64 `json:"folder_selection_ms"`
	RetrievalMs       int64 `json:"retrieval_ms"`
	GenerationMs      int64 `json:"generation_ms"`
	JudgeMs           int64 `json:"judge_ms"`
	TotalMs           int64 `json:"total_ms"`
}

// badRequest is a mistake of the client's, with the status it deserves.
type badRequest struct {
	status  int
	message string
}

func (e *badRequest) Error() string { return e.message }

func (s *Server) ask(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	query, err := readQuery(w, r)
	var bad *badRequest
	if errors.As(err, &bad) {
		writeError(w, bad.status, bad.message)
		return
	}
	ix := s.indexer.Index()
	if ix == nil {
		writeError(w, http.StatusServiceUnavailable, "Vector store unavailable")
		return
	}
	found := ix.retrieve(query, s.ranking)
	response := askResponse{References: []Reference{}}
	generationStart := time.Now()
	var generation time.Duration
	switch context := found.context(); {
	case len(context) == 0:
		response.Abstained = true
		response.AbstainReason = "no_relevant_context"
		if !isOn(r, "retrieval_only") {
			response.Answer = abstention
		}
	case !isOn(r, "retrieval_only"):
		response.Answer, response.References = composeAnswer(context, found.Terms, query.Detail)
		generation = time.Since(generationStart)
	}
	if isOn(r, "debug") {
		response.Debug = newDebugInfo(found, ix.coverage)
		response.Debug.Latency = latency{
			FolderSelectionMs: found.FolderTime.Milliseconds(),
			RetrievalMs:       found.SearchTime.Milliseconds(),
			GenerationMs:      generation.Milliseconds(),
			TotalMs:           time.Since(start).Milliseconds(),
		}
	}
	writeJSON(w, http.StatusOK, response)
}

// readQuery decodes and checks a request. Unknown fields are ignored, values out
// of range are clamped. The error is a *badRequest.
func readQuery(w http.ResponseWriter, r *http.Request) (Query, error) {
	var in askRequest
	decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody))
	err := decoder.Decode(&in)
	if err == nil && decoder.Decode(new(json.RawMessage)) != io.EOF {
		err = errors.New("more than one value")
	}
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return Query{}, &badRequest{http.StatusRequestEntityTooLarge, "Request body too large"}
	case err != nil:
		return Query{}, &badRequest{http.StatusBadRequest, "Invalid request body"}
	case strings.TrimSpace(in.Question) == "":
		return Query{}, &badRequest{http.StatusBadRequest, "Question is required"}
	}
	for _, vault := range in.Vaults {
		if vault != vaultNames[0] && vault != vaultNames[1] {
			return Query{}, &badRequest{http.StatusBadRequest, "Invalid vault name: " + vault}
		}
	}
	switch in.Mode {
	case "":
		in.Mode = "hybrid"
	case "lexical", "vector", "hybrid":
	default:
		return Query{}, &badRequest{http.StatusBadRequest, "Invalid mode: " + in.Mode + " (allowed: lexical, vector, hybrid)"}
	}
	return Query(in), nil
}

func newDebugInfo(found *Retrieval, coverage Coverage) *debugInfo {
	info := &debugInfo{
		RetrievedChunks:  []retrievedChunk{},
		FolderSelection:  folderSelection{found.Selected, found.Available},
		IndexingCoverage: coverage,
	}
	for i, h := range found.listed() {
		info.RetrievedChunks = append(info.RetrievedChunks, retrievedChunk{
			ChunkID:      h.Chunk.ID,
			RelPath:      h.Chunk.RelPath,
			HeadingPath:  h.Chunk.HeadingPath,
			ScoreVector:  h.Vector,
			ScoreLexical: h.Lexical,
			ScoreFinal:   h.Final,
			Text:         h.Chunk.Text,
			Rank:         i + 1,
		})
	}
	return info
}
