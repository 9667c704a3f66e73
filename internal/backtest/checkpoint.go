package backtest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/google/renameio/v2"
)

// checkpoint is how far an evaluation is. Samples are not stored: the next run reads the history before Next again.
type checkpoint struct {
	Options        string // hash, see Options.hash
	From, To, Next time.Time

	Ended   []*Incident
	Open    map[string]*Incident
	Pending map[string]int
	First   map[string]time.Time
	Errors  []string
}

// hash returns the same text for options that find the same in a range. The text does not contain the URL, which may contain a password.
func (o Options) hash() (string, error) {
	content, err := json.Marshal([]any{o.Server, o.Groups, o.Interval, o.Matchers, o.External})
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:]), err
}

// save writes the checkpoint.
func (r *run) save(content []byte) error {
	if content == nil {
		return nil
	}
	if err := renameio.WriteFile(r.o.Checkpoint, content, 0o600); err != nil {
		return fmt.Errorf("save the checkpoint: %w", err)
	}
	return nil
}

// checkpoint returns what a run needs that continues at a time; nil if none is asked for, or if the range has not begun.
func (r *run) checkpoint(next time.Time) ([]byte, error) {
	if r.o.Checkpoint == "" || !next.After(r.from) {
		return nil, nil
	}
	hash, err := r.o.hash()
	if err != nil {
		return nil, err
	}
	return json.Marshal(checkpoint{hash, r.o.From, r.o.To, next, r.ended, r.open, r.result.Pending, r.first, r.result.Errors})
}

// resume continues an earlier run, if there is a checkpoint.
func (r *run) resume() error {
	if r.o.Checkpoint == "" {
		return nil
	}
	content, err := os.ReadFile(r.o.Checkpoint)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var c checkpoint
	if err = errors.Join(err, json.Unmarshal(content, &c)); err != nil {
		return fmt.Errorf("checkpoint %s: %w: delete the file to begin again", r.o.Checkpoint, err)
	}
	hash, err := r.o.hash()
	if err != nil {
		return err
	}
	if c.Options != hash {
		return fmt.Errorf("checkpoint %s belongs to a command with other options (server, rules, labels or interval): repeat that command, or delete the file to "+
			"begin again", r.o.Checkpoint)
	}
	r.o.From, r.o.To, r.from, r.ended, r.first = c.From, c.To, c.Next, c.Ended, c.First
	r.before = len(c.First) > 0
	r.result.From, r.result.To = c.From, c.To
	r.result.Pending, r.result.Errors = c.Pending, c.Errors
	for _, text := range c.Errors {
		r.errs[text] = true
	}
	r.resumed = map[string]Incident{}
	for key, incident := range c.Open {
		r.resumed[key] = *incident
	}
	return nil
}
