#!/bin/sh
# Alertmanager, an alert that was sent, and that ends while another inhibits it: its end is sent to nobody, also not when the other has ended. A receiver that
# keeps an incident for each alert keeps it open.
set -eu
dir=$(mktemp -d) && trap 'kill $(cat pids) 2>/dev/null; rm -rf "$dir"' EXIT && cd "$dir" && touch pids
cat >main.go <<'GO'
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"sync"
	"time"
)

var (
	mu   sync.Mutex
	sent []string
)

func received(what string) bool {
	mu.Lock()
	defer mu.Unlock()
	for _, s := range sent {
		if s == what {
			return true
		}
	}
	return false
}

func await(what string, done func() bool) {
	for deadline := time.Now().Add(time.Minute); !done(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			panic("not seen: " + what)
		}
	}
}

func main() {
	hooks, _ := net.Listen("tcp", "127.0.0.1:0")
	go http.Serve(hooks, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var m struct{ Alerts []struct{ Status string; Labels map[string]string } }
		json.NewDecoder(r.Body).Decode(&m)
		mu.Lock()
		for _, a := range m.Alerts {
			sent = append(sent, a.Labels["alertname"]+" "+a.Status)
		}
		mu.Unlock()
	}))
	config := `route: {receiver: r, group_by: [alertname], group_wait: 1s, group_interval: 1s, repeat_interval: 1h}
receivers: [{name: r, webhook_configs: [{url: "http://` + hooks.Addr().String() + `", send_resolved: true}]}]
inhibit_rules: [{source_matchers: ["alertname=Cause"], target_matchers: ["alertname=Effect"]}]`
	os.WriteFile("am.yml", []byte(config), 0o600)
	free, _ := net.Listen("tcp", "127.0.0.1:0")
	address := free.Addr().String()
	free.Close()
	am := exec.Command("./am", "--config.file=am.yml", "--storage.path=data", "--cluster.listen-address=", "--web.listen-address="+address, "--log.level=error")
	if err := am.Start(); err != nil {
		panic(err)
	}
	defer am.Process.Kill()
	await("Alertmanager", func() bool { r, err := http.Get("http://" + address + "/-/ready"); return err == nil && r.StatusCode == 200 })
	post := func(name string, ends time.Duration) {
		now := time.Now()
		alert := []any{map[string]any{"labels": map[string]string{"alertname": name}, "startsAt": now.Add(-time.Hour), "endsAt": now.Add(ends)}}
		body, _ := json.Marshal(alert)
		r, err := http.Post("http://"+address+"/api/v2/alerts", "application/json", bytes.NewReader(body))
		if err != nil || r.StatusCode != 200 {
			panic(fmt.Sprint(r, err))
		}
	}
	post("Effect", time.Hour)
	await("the effect", func() bool { return received("Effect firing") })
	post("Cause", time.Hour)
	await("the cause", func() bool { return received("Cause firing") })
	post("Effect", -time.Second) // over, while it is inhibited
	time.Sleep(5 * time.Second)  // several intervals of its group
	post("Cause", -time.Second)
	await("the end of the cause", func() bool { return received("Cause resolved") })
	time.Sleep(5 * time.Second)
	fmt.Println("end of the cause sent: true, end of the effect sent:", received("Effect resolved"))
}
GO
go mod init finding >/dev/null 2>&1
go get github.com/prometheus/alertmanager/cmd/alertmanager@v0.31.1 >/dev/null 2>&1
GOFLAGS=-mod=mod CGO_ENABLED=0 go build -o am github.com/prometheus/alertmanager/cmd/alertmanager >/dev/null 2>&1
echo "alertmanager v0.31.1: $(GOFLAGS=-mod=mod CGO_ENABLED=0 go run main.go)" | tee got
echo 'alertmanager v0.31.1: end of the cause sent: true, end of the effect sent: false' | cmp - got
