package e2e

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/avax-exporter/avax-exporter/internal/simnet"
	"github.com/avax-exporter/avax-exporter/internal/testworld"
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

// notify init, notify test and the start: then a message about one's own node arrives on Telegram.
func TestTelegramIsSetUpWithThreeCommands(t *testing.T) {
	testworld.Full(t)
	t.Parallel()
	network, bot := simnet.New(simnet.Options{Seed: 1}), newTelegram(t)
	urls := testworld.Serve(t, network)
	printed, err := exec.CommandContext(t.Context(), testworld.ExporterPath(t), "notify", "init", "telegram").Output()
	if err != nil {
		t.Fatal(err)
	}
	file := testworld.File(t, strings.NewReplacer( // what is marked CHANGE, the address of Telegram, and short waits
		"/etc/avax-exporter/telegram.token", testworld.File(t, "1:token"), "chat_id: 123456789", "chat_id: 42\n        api_url: "+bot.URL,
		"group_wait: 30s", "group_wait: 1s", "group_interval: 65s", "group_interval: 1s",
	).Replace(string(printed)))

	test := exec.CommandContext(t.Context(), testworld.ExporterPath(t), "notify", "test")
	test.Env = append(test.Environ(), "AVAX_NOTIFY_FILE="+file)
	if out, err := test.CombinedOutput(); err != nil || !strings.Contains(string(out), "telegram (telegram): accepted") {
		t.Fatalf("%v: %s", err, out)
	}
	bot.wait(t, "<b>[PAGE] Test notification of avax-exporter</b>")
	bot.wait(t, "<b>[RESOLVED] Test notification of avax-exporter</b>")

	exporter := testworld.StartExporter(t, everySecond, "AVAX_NODES=mine="+urls["alpha"], "AVAX_RULES_FILE="+shortRules(t), "AVAX_ALERTING_INTERVAL=1s", "AVAX_NOTIFY_FILE="+file)
	exporter.Until("the node is up", testworld.Is(`avax_node_up{node="mine"}`, 1))
	network.Node("alpha").Stop()
	text := bot.wait(t, "<b>[PAGE] mine")
	for _, part := range []string{"\nAction: ", "\nImpact: ", "\nSince 20", ">Alerts</a>", ">Runbook</a>", ">Silence mine</a>"} {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in %s", part, text)
		}
	}
	if strings.Contains(text, "`") {
		t.Errorf("markup that Telegram shows as it is: %s", text)
	}
	network.Node("alpha").Start()
	if text := bot.wait(t, "<b>[RESOLVED] mine"); !strings.Contains(text, "\nLasted ") {
		t.Errorf("not how long it lasted: %s", text)
	}
	t.Log(text)
}
