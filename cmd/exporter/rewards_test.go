package main

import (
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/ledger"
	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

// A spreadsheet program that imports the CSV reads times as times and amounts as numbers, and runs no text as a formula.
func TestSpreadsheetKeepsAmountsAndTimes(t *testing.T) {
	testworld.Full(t)
	testworld.Needs(t, "soffice")
	dir, price := t.TempDir(), 21.55
	var text strings.Builder
	l := printedLedger{Query: ledger.Query{Location: time.UTC, Currency: "usd"}, payments: []ledger.Payment{
		{
			Time:           time.Date(2026, 10, 1, 4, 10, 0, 0, time.UTC),
			Kind:           "DELEGATOR",
			Asset:          "=1+1",
			Decimals:       9,
			Amount:         big.NewInt(480_602_739_725),
			Own:            big.NewInt(1),
			Price:          &price,
			ValueHundredth: big.NewInt(1_035_698),
		},
		{Time: time.Date(2026, 10, 2, 0, 0, 0, 0, time.UTC), Asset: "AVAX", Decimals: 9, Amount: big.NewInt(3), Own: big.NewInt(3)},
	}}
	must.Do(t, l.write(&text, "csv"))
	must.Do(t, os.WriteFile(filepath.Join(dir, "rewards.csv"), []byte(text.String()), 0o600))
	convert := exec.CommandContext(t.Context(), "soffice", "--headless", "-env:UserInstallation=file://"+dir+"/profile", "--convert-to", "fods", "--outdir", dir,
		filepath.Join(dir, "rewards.csv"))
	if out, err := convert.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	sheet := must.Get(os.ReadFile(filepath.Join(dir, "rewards.fods")))(t)
	for _, want := range []string{`office:date-value="2026-10-01T04:10:00"`, `office:value="480602739725"`, `office:value="480.602739725"`,
		`office:value="21.55"`, `office:value="10356.98"`, `office:value="0.000000003"`, "no price yet"} {
		if !strings.Contains(string(sheet), want) {
			t.Errorf("no %s", want)
		}
	}
	if strings.Contains(string(sheet), "table:formula") {
		t.Error("a text became a formula")
	}
}
