// An API that answers at once, so that what is measured is who asks: ten chunks of a file, chosen by the question.
//
// instant-api ADDRESS CHUNKS: CHUNKS holds one JSON object per line, as the notes API tells a chunk. A question that ends
// in a number n has chunk n in its list, at a rank that n decides, or not at all for every tenth.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"
	"strconv"
	"strings"
)

const (
	depth = 10
	step  = 181 // less than a tenth of the chunks, so that no list has one twice
)

var (
	chunks [][]byte
	before = []byte(`{"answer":"","references":[],"debug":{"retrieved_chunks":[`)
	after  []byte
)

func number(question string) int {
	words := strings.Fields(question)
	n, err := strconv.Atoi(words[len(words)-1])
	if err != nil {
		return 0
	}
	return n
}

func ask(reply http.ResponseWriter, request *http.Request) {
	var asked struct{ Question string }
	if err := json.NewDecoder(request.Body).Decode(&asked); err != nil || strings.TrimSpace(asked.Question) == "" {
		http.Error(reply, "no question", http.StatusBadRequest)
		return
	}
	n := number(asked.Question)
	gold := n % len(chunks)
	rank, start := n%(depth+1), gold+1+n%step
	var body bytes.Buffer
	body.Write(before)
	for place := 0; place < depth; place++ {
		if place > 0 {
			body.WriteByte(',')
		}
		chunk := (start + place*step) % len(chunks)
		if place == rank {
			chunk = gold
		}
		// no two questions are told the same scores
		final := 1/float64(place+1) - float64(n%9973)/1e7
		fmt.Fprintf(&body, `{"score_final":%g,"score_vector":%g,"score_lexical":%g,`, final, final/2, final/3)
		body.Write(chunks[chunk][1:])
	}
	body.Write(after)
	reply.Header().Set("Content-Type", "application/json")
	reply.Write(body.Bytes())
}

func main() {
	file, err := os.Open(os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		chunks = append(chunks, bytes.Clone(lines.Bytes()))
	}
	count := strconv.Itoa(len(chunks))
	after = []byte(`],"latency":{"retrieval_ms":1.5,"total_ms":2.5},"indexing_coverage":{"docs_processed":` + strconv.Itoa(len(chunks)/4) +
		`,"docs_with_0_chunks":0,"chunks_attempted":` + count + `,"chunks_embedded":` + count + `,"chunks_skipped":0,` +
		`"chunker_version":"v1","index_version":"v1","chunk_token_stats":{"mean":80,"p95":100}},` +
		`"folder_selection":{"selected_folders":["folder-1","folder-2"],"available_folders":["folder-0","folder-1","folder-2"]}}}`)
	http.HandleFunc("/api/health", func(reply http.ResponseWriter, _ *http.Request) {
		reply.Header().Set("Content-Type", "application/json")
		reply.Write([]byte(`{"status":"ok"}`))
	})
	http.HandleFunc("/api/v1/ask", ask)
	log.Fatal(http.ListenAndServe(os.Args[1], nil))
}
