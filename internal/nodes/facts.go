package nodes

// Fact is a fact about the network or a chain that is compared between nodes. Only what the protocol makes equal on all nodes is one: what a node prefers,
// has seen or has configured is not.
type Fact struct {
	Name string // in errors and on the status page
	Why  string // why all nodes that have accepted the same blocks give the same answer
}

// The facts that are compared.
var (
	FactBalances    = Fact{"balances", "A balance is part of the state after a block. Coins from other chains appear a few seconds apart."}
	FactBlockchains = Fact{"blockchains", "A transaction of the P-Chain creates each chain. A chain and its subnet never change."}
	FactFeeConfig   = Fact{"fee configuration", "It is part of the genesis or of the state of the chain, which all nodes execute."}
	FactFees        = Fact{"fees", "The P-Chain computes them from its state and its time. They may differ by 1 % between two blocks."}
	FactOwners      = Fact{"owners", "A transaction of the P-Chain sets them."}
	FactRewards     = Fact{"rewards", "The P-Chain pays them in a block, which never changes."}
	FactStake       = Fact{"stake", "The stake of each validator is part of the P-Chain's state. Delegations change it at a block."}
	FactSupply      = Fact{"supply", "It is part of the P-Chain's state. It may differ by 1 % between two blocks."}
	FactValidators  = Fact{"validators", "A set is part of the P-Chain's state. What a node has observed about validators is not compared."}
)

// Facts returns the facts that are compared, by name.
func Facts() []Fact {
	return []Fact{FactBalances, FactBlockchains, FactFeeConfig, FactFees, FactOwners, FactRewards, FactStake, FactSupply, FactValidators}
}
