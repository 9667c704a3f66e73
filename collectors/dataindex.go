package collectors

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/state"
	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/data"
)

var (
	dataIndexedHeight = metric.New("avax_data_indexed_height",
		"Height of the newest block of the chain that the Data service knows. It is looked for from the nodes' own head down, in a few steps: "+
			"where the service falls behind quickly, it may know somewhat more.", "chain")
	dataIndexedTimestamp = metric.New("avax_data_indexed_timestamp_seconds",
		"When that block was made, in Unix seconds.", "chain")
	dataTransactions = metric.NewCounter("avax_data_cumulative_transactions_total",
		"Transactions on the chain up to that block, as the Data service counts them.", "chain")
	dataFees = metric.New("avax_data_fees_spent_tokens",
		"Fees spent in that block, in tokens of the chain.", "chain")
)

var dataIndex = &Spec{
	Name:     "data_index",
	Help:     "How far behind an EVM chain is the Data service?",
	Calls:    []string{opBlock, "eth_getBlockByNumber", "platform.getBlockchains", "info.getBlockchainID"},
	Every:    time.Minute,
	Families: []*metric.Family{dataIndexedHeight, dataIndexedTimestamp, dataTransactions, dataFees},
	Scope:    metric.ScopeChain,
	Bind:     withData(perServiceChain(collectDataIndex)),
	Cost:     calls(opBlock, 2),
}

func collectDataIndex(ctx context.Context, ups *Upstreams, c Chain, out *metric.Batch) error {
	head, err := newestHeight(ctx, ups.Targets, c)
	if err != nil {
		return err
	}
	name := ups.Data.entry("index", c.Name)
	was, known, err := state.Load[indexed](&ups.Data.Ledger.memory, name)
	if err != nil {
		return err
	}
	b, err := ofChain(ctx, ups, c, opBlock, func(chainID string) (data.Block, error) {
		s := search{left: mostLookups, above: head + 1, look: func(n uint64) (data.Block, error) {
			return ups.Data.Block(ctx, chainID, strconv.FormatUint(n, 10))
		}}
		if !known && !s.knows(head) && s.err == nil && !s.knows(0) && s.err == nil {
			return data.Block{}, s.unknown // of a chain that it knows, it knows the first block
		}
		err := s.run(head, &was)
		if err := ups.Data.Ledger.memory.Save(name, was); err != nil {
			return data.Block{}, err
		}
		return s.newest, err
	})
	if err != nil {
		return err
	}
	out.Set(dataIndexedHeight, float64(b.BlockNumber), c.Name)
	out.SetTime(dataIndexedTimestamp, b.BlockTimestamp.Time, c.Name)
	out.Set(dataTransactions, float64(b.CumulativeTransactions), c.Name)
	out.Set(dataFees, b.FeesSpent.Tokens(weiDecimals), c.Name)
	return nil
}

// weiDecimals are those of the native token of every EVM chain.
const weiDecimals = 18

// mostLookups is how many blocks one run asks for at most. It takes one or two
// while the service is where it was, behind the chain or standing still.
const mostLookups = 10

// indexed is what the last run found.
type indexed struct {
	Newest uint64 // the newest block that the service knew
	Lag    uint64 // how far below the nodes' head to look
}

// search looks for the newest block that the service knows.
type search struct {
	look    func(n uint64) (data.Block, error)
	left    int
	found   bool
	newest  data.Block
	above   uint64 // that it does not know, nor any above
	unknown error  // why it does not know the last that it was asked for
	err     error  // what ended the search
}

// knows asks for a block, while there are questions left.
func (s *search) knows(n uint64) bool {
	if s.left == 0 || s.err != nil {
		return false
	}
	s.left--
	b, err := s.look(n)
	switch {
	case err == nil:
		s.found, s.newest = true, b
		return true
	case scrape.OutcomeOf(err) == scrape.NotFound:
		s.unknown, s.above = err, min(s.above, n)
	default:
		s.err = err
	}
	return false
}

// run looks at the head; then as far below it as the last time, as for a service
// that follows the chain; then for what it knew the last time, as for one that
// stands still; then further and further down. Then it looks between what the
// service knows and what it does not.
func (s *search) run(head uint64, was *indexed) error {
	s.found = s.found && s.newest.BlockNumber > 0
	if !s.found && s.above > head {
		s.knows(head)
	}
	if !s.found {
		s.knows(head - min(max(1, was.Lag), head))
	}
	if !s.found && was.Newest > 0 && was.Newest < s.above {
		s.knows(was.Newest)
	}
	for !s.found && s.left > 0 && s.err == nil {
		was.Lag = 2 * max(1, was.Lag)
		s.knows(head - min(was.Lag, head))
	}
	for step := uint64(1); s.found && s.left > 0 && s.err == nil; {
		low := uint64(s.newest.BlockNumber)
		if low+1 >= s.above {
			break
		}
		s.knows(low + step) // first the next one, which tells a service that stands still
		step = max(1, (s.above-uint64(s.newest.BlockNumber))/2)
	}
	switch {
	case s.err != nil:
		return s.err
	case !s.found:
		return fmt.Errorf("the Data service knows none of the newest %d blocks; the next run looks below", head+1-s.above)
	}
	was.Newest = uint64(s.newest.BlockNumber)
	was.Lag = head - min(head, was.Newest)
	return nil
}
