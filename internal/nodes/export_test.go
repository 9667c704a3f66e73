package nodes

import "github.com/avax-exporter/avax-exporter/scrape/node"

// Follow is follow with the chains that each node tracks.
func (p *Pool) Follow(found []Chain, tracked [][]node.Blockchain) ([]Chain, error) {
	return p.follow(found, p.Nodes(), tracked, make([]error, len(tracked)))
}
