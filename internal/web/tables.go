package web

import (
	"strings"

	"github.com/avax-exporter/avax-exporter/internal/snapshot"
)

// tableView is a table of facts that have no series, as a collector made it.
type tableView struct {
	About   string
	Columns []string
	Rows    [][]tableCell
	More    int
	Open    bool // it belongs to something that is wrong
}

// tableCell is a cell with the name of its column, for screens on which columns
// have no room.
type tableCell struct {
	Column, Text string
	Name         string // of the own node whose ID the text is
}

// Long tells a text that no one reads word by word, such as an ID.
func (c tableCell) Long() bool { return len(c.Text) > 30 && !strings.Contains(c.Text, " ") }

// addTables shows what collectors have to tell beside their samples, each beside
// what it is about.
func (p *page) addTables(tables []snapshot.Table) {
	for _, t := range tables {
		if len(t.Rows) == 0 {
			continue
		}
		v := tableView{About: t.About, Columns: t.Columns, More: t.LeftOut + max(0, len(t.Rows)-mostFacts)}
		for _, row := range t.Rows[:min(len(t.Rows), mostFacts)] {
			cells := make([]tableCell, len(row))
			for i, text := range row {
				cells[i].Text, cells[i].Name = text, p.names[text]
				if i < len(t.Columns) {
					cells[i].Column = t.Columns[i]
				}
			}
			v.Rows = append(v.Rows, cells)
		}
		to := &p.Facts
		switch t.Collector {
		case "reward_budget":
			to, v.Open = &p.Dissenters, p.problems.has("AvaxRewardUnreachable", "AvaxRewardLost", "AvaxRewardStakeLow")
		case "variants":
			to, v.Open = &p.Variants, true
		}
		to.add(v)
	}
}

// tables are those of one kind, as many as a page takes.
type tables struct {
	List []tableView
	More int
}

func (ts *tables) add(t tableView) {
	if len(ts.List) == mostTables {
		ts.More++
		return
	}
	ts.List = append(ts.List, t)
}
