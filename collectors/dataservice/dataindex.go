package dataservice

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/collector"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/state"
	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/data"
	"github.com/avax-exporter/avax-exporter/scrape/node"
)

var (
	dataIndexedHeight = metric.New("avax_data_indexed_height",
		"Height of the newest block of the chain that the Data service knows. The exporter searches for this block with a few calls per minute. So the value may "+
			"be several minutes late when the service falls behind or catches up.", "chain")
	dataIndexedTimestamp = metric.New("avax_data_indexed_timestamp_seconds",
		"Time of the newest block of the chain that the Data service knows, in Unix seconds.", "chain")
	dataTransactions = metric.NewCounter("avax_data_cumulative_transactions_total",
		"Transactions on the chain up to the newest block that the Data service knows, as counted by the service.", "chain")
	dataChainIndexed = metric.New("avax_data_chain_indexed",
		"1 if the Data service knows blocks of the chain, 0 if not. If 0, families that need data of this chain from the service have no series.", "chain")
	dataFees = metric.New("avax_data_fees_spent_tokens",
		"Fees of the newest block that the Data service knows, in tokens of the chain.", "chain")
)

var DataIndex = &collector.Spec{
	Name: "data_index",
	Help: "Newest block that the Data service has indexed, for each EVM chain.",
	Calls: []string{data.GetBlock.Op(), "eth_getBlockByNumber", "platform.getBlockchains",
		"platform.getTx", "info.getBlockchainID", "info.getNetworkID", "eth_chainId"},
	Every:    time.Minute,
	Families: []*metric.Family{dataChainIndexed, dataIndexedHeight, dataIndexedTimestamp, dataTransactions, dataFees},
	Bind:     collector.PerWithData(collector.Chains, collectDataIndex),
	Cost:     collector.Calls(data.GetBlock.Op(), maxLookups),
}

func collectDataIndex(ctx context.Context, ups *collector.Upstreams, on collector.Subject, out *metric.Batch) error {
	c := on.Chain
	head, err := collector.NewestHeight(ctx, ups, c)
	if err != nil {
		return err
	}
	entry := ups.Data.Entry("index", c.Name)
	last, _ := state.Load[indexed](&ups.Memory, entry)
	b, err := collector.OfChain(ctx, ups, c, data.GetBlock.Op(), func(chainID string) (data.Block, error) {
		s := search{left: maxLookups, above: head + 1, request: func(n uint64) (data.Block, error) {
			b, err := ups.Data.Block(ctx, chainID, strconv.FormatUint(n, 10))
			if err == nil && uint64(b.BlockNumber) != n {
				err = collector.WrongAnswer(data.GetBlock.Op(), fmt.Sprintf("block %d", n), fmt.Sprintf("block %d", b.BlockNumber))
			}
			if err == nil {
				err = ups.CheckChain(ctx, data.GetBlock.Op(), c, b.ChainID)
			}
			return b, err
		}}
		if last.Head == 0 && !s.lookUp(0) && s.err == nil {
			return data.Block{}, errNotIndexed
		}
		err := s.run(head, &last)
		if err := ups.Memory.Save(entry, last); err != nil {
			return data.Block{}, err
		}
		return s.newest, err
	})
	if errors.Is(err, metric.ErrNotOffered) {
		out.SetBool(dataChainIndexed, false, c.Name)
	}
	if err != nil {
		return err
	}
	out.SetBool(dataChainIndexed, true, c.Name)
	out.Set(dataIndexedHeight, float64(b.BlockNumber), c.Name)
	out.SetTime(dataIndexedTimestamp, b.BlockTimestamp.Time, c.Name)
	out.Set(dataTransactions, float64(b.CumulativeTransactions), c.Name)
	out.Set(dataFees, b.FeesSpent.Tokens(node.WeiDecimals), c.Name)
	return nil
}

// maxLookups is the maximum number of blocks that one run requests. A run needs two lookups if the service is as many
// blocks behind as in the last run. It needs three if the service has indexed no new block.
const maxLookups = 4

// errNotIndexed is the error for a chain that the service does not index: the service does not know block 0.
var errNotIndexed error = &scrape.Error{Op: data.GetBlock.Op(), Outcome: scrape.NotFound, Err: errors.New("the service does not index the chain")}

// indexed is the result of a run, in block numbers.
type indexed struct {
	Newest uint64 // a block that the service knows; 0: none was found
	Above  uint64 // a block above Newest that the service does not know
	Head   uint64 // newest block of the nodes
}

// search looks for the newest block that the service knows.
type search struct {
	request func(n uint64) (data.Block, error)
	left    int // remaining lookups
	found   bool
	newest  data.Block // highest known block, if found is true
	above   uint64     // lowest block that the service does not know
	err     error      // error that ended the search
}

// lookUp requests a block and reports whether the service knows it. If no lookup is left, or after an error, it returns
// false without a request.
func (s *search) lookUp(n uint64) bool {
	if s.left == 0 || s.err != nil {
		return false
	}
	s.left--
	b, err := s.request(n)
	switch {
	case err == nil:
		s.found, s.newest = true, b
		return true
	case scrape.OutcomeOf(err) == scrape.NotFound:
		s.above = min(s.above, n)
	default:
		s.err = err
	}
	return false
}

// run searches for the newest block that the service knows. It starts with the result of the last run, and replaces it
// with the new result. It first assumes that the service has indexed as many new blocks as the nodes have accepted. If
// that is wrong, it assumes that the service has indexed no new block. If there is no last result, it searches from the
// head downwards. When it has found a known and an unknown block, it continues with a binary search between them. If no
// lookup is left, the next run continues with the result.
func (s *search) run(head uint64, last *indexed) error {
	s.found = s.found && s.newest.BlockNumber > 0
	caughtUp := false
	if added := head - min(head, last.Head); last.Newest > 0 {
		switch {
		case s.lookUp(last.Newest + added):
			caughtUp = last.Above+added <= head && s.lookUp(last.Above+added)
		case last.Above < s.above && s.lookUp(last.Above):
		case last.Newest < s.above:
			s.lookUp(last.Newest)
		}
	} else if last.Above > 0 {
		s.above = min(s.above, last.Above)
	}
	for !s.found && s.left > 0 && s.err == nil {
		switch below := head - min(head, s.above); {
		case s.above > head:
			s.lookUp(head)
		case below == 0:
			s.lookUp(head - min(head, 1))
		default:
			s.lookUp(head - min(head, searchFactor*below))
		}
	}
	for s.found && s.left > 0 && s.err == nil && uint64(s.newest.BlockNumber)+1 < s.above {
		low := uint64(s.newest.BlockNumber)
		middle := low + (s.above-low)/2
		if caughtUp { // the service has probably indexed almost all blocks
			middle, caughtUp = max(middle, head-(head-low)/searchFactor), false
		}
		s.lookUp(middle)
	}
	if s.err != nil {
		return s.err
	}
	*last = indexed{Above: s.above, Head: head}
	if !s.found {
		return fmt.Errorf("the Data service knows none of the newest %d blocks: the next run searches older blocks", head+1-s.above)
	}
	last.Newest = uint64(s.newest.BlockNumber)
	return nil
}

// searchFactor is the factor by which the distance from the head grows in each step of the search downwards.
const searchFactor = 16
