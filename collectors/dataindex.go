package collectors

import (
	"context"
	"errors"
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
		"Height of the newest block of the chain that the Data service knows. It is searched in a few steps per minute, so it may be some minutes late if the service falls behind or catches up.", "chain")
	dataIndexedTimestamp = metric.New("avax_data_indexed_timestamp_seconds",
		"Time of that block, in Unix seconds.", "chain")
	dataTransactions = metric.NewCounter("avax_data_cumulative_transactions_total",
		"Transactions on the chain up to that block, as counted by the Data service.", "chain")
	dataChainIndexed = metric.New("avax_data_chain_indexed",
		"1 if the Data service knows blocks of the chain, 0 if it knows none. With 0, data of the chain that only this service has is absent.", "chain")
	dataFees = metric.New("avax_data_fees_spent_tokens",
		"Fees of that block, in tokens of the chain.", "chain")
)

var dataIndex = &Spec{
	Name:     "data_index",
	Help:     "The newest block of an EVM chain that the Data service has indexed.",
	Calls:    []string{opBlock, "eth_getBlockByNumber", "platform.getBlockchains", "info.getBlockchainID", "info.getNetworkID", "eth_chainId"},
	Every:    time.Minute,
	Families: []*metric.Family{dataChainIndexed, dataIndexedHeight, dataIndexedTimestamp, dataTransactions, dataFees},
	Scope:    metric.ScopeChain,
	Bind:     withData(perServiceChain(collectDataIndex)),
	Cost:     calls(opBlock, maxLookups),
}

func collectDataIndex(ctx context.Context, ups *Upstreams, c Chain, out *metric.Batch) error {
	head, err := newestHeight(ctx, ups.Targets, c)
	if err != nil {
		return err
	}
	entry := ups.Data.entry("index", c.Name)
	was, known, err := state.Load[indexed](&ups.Data.Ledger.memory, entry)
	if err != nil {
		return err
	}
	b, err := ofChain(ctx, ups, c, opBlock, func(chainID string) (data.Block, error) {
		s := search{left: maxLookups, above: head + 1, look: func(n uint64) (data.Block, error) {
			b, err := ups.Data.Block(ctx, chainID, strconv.FormatUint(n, 10))
			if err == nil && uint64(b.BlockNumber) != n {
				err = anotherAnswer(opBlock, fmt.Sprintf("block %d", n), fmt.Sprintf("block %d", b.BlockNumber))
			}
			if err == nil {
				err = ups.checkChain(ctx, opBlock, c, b.ChainID)
			}
			return b, err
		}}
		if !known && !s.knows(head) && s.err == nil && !s.knows(0) && s.err == nil {
			return data.Block{}, s.unknown // it has indexed the first block of every known chain
		}
		err := s.run(head, &was)
		if err := ups.Data.Ledger.memory.Save(entry, was); err != nil {
			return data.Block{}, err
		}
		return s.newest, err
	})
	if errors.Is(err, ErrNotOffered) {
		out.SetBool(dataChainIndexed, false, c.Name)
	}
	if err != nil {
		return err
	}
	out.SetBool(dataChainIndexed, true, c.Name)
	out.Set(dataIndexedHeight, float64(b.BlockNumber), c.Name)
	out.SetTime(dataIndexedTimestamp, b.BlockTimestamp.Time, c.Name)
	out.Set(dataTransactions, float64(b.CumulativeTransactions), c.Name)
	out.Set(dataFees, b.FeesSpent.Tokens(weiDecimals), c.Name)
	return nil
}

// weiDecimals are the decimal places of the native token of every EVM chain.
const weiDecimals = 18

// maxLookups is the maximum number of blocks that one run requests. A run needs two while the lag of the service does
// not change, and three while the service makes no progress.
const maxLookups = 4

// indexed is the result of the last run.
type indexed struct {
	Newest uint64 // a known block; 0: none was found
	Above  uint64 // an unknown block above it
	Head   uint64 // the newest block of the nodes
}

// search looks for the newest block that the service knows.
type search struct {
	look    func(n uint64) (data.Block, error)
	left    int
	found   bool
	newest  data.Block
	above   uint64 // lowest unknown block
	unknown error  // error of the last unknown block
	err     error  // what ended the search
}

// knows requests a block, unless the run has used up its lookups.
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

// run looks for both blocks of the last run, first where they are if the service keeps up with the chain, then where they
// are if it makes no progress. The first run searches downwards from the head. Then it searches between the block that is
// known and the one that is not. A run without lookups left keeps its result, and the next run continues from there.
func (s *search) run(head uint64, was *indexed) error {
	s.found = s.found && s.newest.BlockNumber > 0
	caughtUp := false
	if moved := head - min(head, was.Head); was.Newest > 0 {
		switch {
		case s.knows(was.Newest + moved):
			caughtUp = was.Above+moved <= head && s.knows(was.Above+moved)
		case was.Above < s.above && s.knows(was.Above):
		case was.Newest < s.above:
			s.knows(was.Newest)
		}
	} else if was.Above > 0 {
		s.above = min(s.above, was.Above)
	}
	for !s.found && s.left > 0 && s.err == nil {
		switch below := head - min(head, s.above); {
		case s.above > head:
			s.knows(head)
		case below == 0:
			s.knows(head - min(head, 1))
		default:
			s.knows(head - min(head, lookBelow*below))
		}
	}
	for s.found && s.left > 0 && s.err == nil && uint64(s.newest.BlockNumber)+1 < s.above {
		low := uint64(s.newest.BlockNumber)
		middle := low + (s.above-low)/2
		if caughtUp { // most likely all of it
			middle, caughtUp = max(middle, head-(head-low)/lookBelow), false
		}
		s.knows(middle)
	}
	if s.err != nil {
		return s.err
	}
	*was = indexed{Above: s.above, Head: head}
	if !s.found {
		return fmt.Errorf("the Data service knows none of the newest %d blocks; the next run looks below", head+1-s.above)
	}
	was.Newest = uint64(s.newest.BlockNumber)
	return nil
}

// lookBelow is the factor by which each step goes further from the head.
const lookBelow = 16
