package ledger

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// pagesKept is the time for which the pages of an interrupted run are used. Later the lists have changed.
const pagesKept = time.Hour

// pages stores the answers of the service, so that a run continues that was interrupted or for which the service did not answer: one JSON object per
// line. Each stored answer is used once, because later requests of the same page want a new one.
type pages struct {
	path   string
	file   *os.File // nil: nothing is stored
	stored map[string][]jsontext.Value
}

type storedPage struct {
	Key    string
	At     time.Time
	Answer json.RawMessage
}

// openPages opens the pages of a query. If they cannot be stored, the ledger is read without them.
func openPages(dir string, query ...any) *pages {
	p := &pages{stored: map[string][]jsontext.Value{}}
	if dir == "" || os.MkdirAll(dir, 0o700) != nil {
		return p
	}
	sum := sha256.Sum256(fmt.Append(nil, query...))
	p.path = filepath.Join(dir, "ledger-"+hex.EncodeToString(sum[:8])+".jsonl")
	var kept []byte // lines that are not too old
	if f, err := os.Open(p.path); err == nil {
		const longest = 64 << 20
		lines := bufio.NewScanner(f)
		lines.Buffer(nil, longest)
		for lines.Scan() {
			var page storedPage
			if json.Unmarshal(lines.Bytes(), &page) == nil && time.Since(page.At) >= 0 && time.Since(page.At) < pagesKept {
				p.stored[page.Key] = append(p.stored[page.Key], jsontext.Value(page.Answer))
				kept = append(append(kept, lines.Bytes()...), '\n')
			}
		}
		_ = f.Close()
	}
	if os.WriteFile(p.path, kept, 0o600) == nil {
		p.file, _ = os.OpenFile(p.path, os.O_WRONLY|os.O_APPEND, 0o600)
	}
	return p
}

// take returns a stored answer, or nil.
func (p *pages) take(key string) (answer jsontext.Value) {
	if all := p.stored[key]; len(all) > 0 {
		answer, p.stored[key] = all[0], all[1:]
	}
	return answer
}

func (p *pages) put(key string, answer jsontext.Value) {
	if p.file == nil {
		return
	}
	line, err := json.Marshal(storedPage{key, time.Now(), json.RawMessage(answer)})
	if err == nil {
		_, err = p.file.Write(append(line, '\n'))
	}
	if err != nil { // the ledger is read without it
		p.close(true)
	}
}

// close ends the storage. It removes the file unless a run may continue.
func (p *pages) close(ended bool) {
	if p.file == nil {
		return
	}
	err := p.file.Close()
	if p.file = nil; ended {
		err = errors.Join(err, os.Remove(p.path))
	}
	_ = err
}
