package e2e

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
	"github.com/avax-exporter/avax-exporter/simnet"
)

// telegram is a bot API that keeps the texts it gets.
type telegram struct {
	*httptest.Server
	mu    sync.Mutex
	texts []string
}

func newTelegram(t *testing.T) *telegram {
	t.Helper()
	bot := &telegram{}
	bot.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			Chat string `json:"chat_id"`
			Text string `json:"text"`
		}
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil || r.URL.Path != "/bot1:token/sendMessage" || body.Chat != "42" {
			http.Error(w, `{"ok":false,"error_code":404,"description":"Not Found"}`, http.StatusNotFound)
			return
		}
		bot.mu.Lock()
		defer bot.mu.Unlock()
		bot.texts = append(bot.texts, body.Text)
		_, _ = io.WriteString(w, `{"ok":true,"result":{"message_id":1,"date":1767225600,"chat":{"id":42,"type":"private"}}}`)
	}))
	t.Cleanup(bot.Close)
	return bot
}

// wait waits for a text that begins like this, and returns it.
func (b *telegram) wait(t *testing.T, begins string) (text string) {
	t.Helper()
	testworld.Await(t, begins, func() error {
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, text = range b.texts {
			if strings.HasPrefix(text, begins) {
				return nil
			}
		}
		return errors.New("arrived: " + strings.Join(b.texts, "\n--\n"))
	})
	return text
}

// Set up with init: then a message about one's own node arrives on Telegram. The commands are those that init prints.
func TestTelegramIsSetUpWithThreeCommands(t *testing.T) {
	testworld.Full(t)
	t.Parallel()
	network, bot := simnet.New(simnet.Options{Seed: 1}), newTelegram(t)
	urls := testworld.Serve(t, network)
	dir, began := t.TempDir(), time.Now()
	command := func(name string, args ...string) string {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v: %s", name, err, out)
		}
		return string(out)
	}
	said := command(testworld.ExporterPath(t), "init", "--yes", "--dir", dir, "--node", urls["alpha"], "--notify", "telegram",
		"--set", "bot_token=1:token", "--set", "chat_id=42", "--set", "api_url="+bot.URL)
	for _, part := range []string{"\nmine: avalanchego/", "\ntelegram (telegram): accepted\n"} {
		if !strings.Contains("\n"+said, part) {
			t.Errorf("no %q in %s", part, said)
		}
	}
	bot.wait(t, "<b>[PAGE] Test notification of avax-exporter</b>")
	bot.wait(t, "<b>[RESOLVED] Test notification of avax-exporter</b>")
	start := regexp.MustCompile(`(?m)^  set -a; (.*); set \+a; `).FindStringSubmatch(said)
	if start == nil {
		t.Fatalf("no command for a shell: %s", said)
	}
	env := strings.Split(strings.TrimSpace(command("env", "-i", "sh", "-ec", "set -a; "+start[1]+"; env")), "\n")
	check := exec.CommandContext(t.Context(), testworld.ExporterPath(t), "check", "-v")
	check.Env = env
	if out, err := check.CombinedOutput(); err != nil || !strings.Contains(string(out), "receiver telegram") {
		t.Errorf("check: %v: %s", err, out)
	}
	file := filepath.Join(dir, "notify.yml")
	text := must.Get(os.ReadFile(file))(t)
	short := strings.NewReplacer("group_wait: 30s", "group_wait: 1s", "group_interval: 65s", "group_interval: 1s").Replace(string(text))
	must.Do(t, os.WriteFile(file, []byte(short), 0o600))

	exporter := testworld.StartExporter(t, append(env, everySecond, "AVAX_RULES_FILE="+shortRules(t), "AVAX_ALERTING_INTERVAL=1s")...)
	exporter.Until("the node is up", testworld.Is(`avax_node_up{node="mine"}`, 1))
	network.Node("alpha").Stop()
	page := bot.wait(t, "<b>[PAGE] mine")
	t.Logf("from the binary to the message: %s, without the for: of the rule", time.Since(began).Round(time.Second))
	for _, part := range []string{"\nAction: ", "\nImpact: ", "\nSince 20", ">Alerts</a>", ">Runbook</a>", ">Silence mine</a>"} {
		if !strings.Contains(page, part) {
			t.Errorf("no %q in %s", part, page)
		}
	}
	if strings.Contains(page, "`") {
		t.Errorf("markup that Telegram shows as it is: %s", page)
	}
	network.Node("alpha").Start()
	if text := bot.wait(t, "<b>[RESOLVED] mine"); !strings.Contains(text, "\nLasted ") {
		t.Errorf("not how long it lasted: %s", text)
	}
	t.Log(page)
}
