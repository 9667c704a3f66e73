package nodes

// Fact is a fact about the network or a chain that is compared between nodes. Only what the protocol makes equal on all nodes is one: what a node prefers,
// has seen or has configured is not.
type Fact struct {
	Name string // in errors and on the status page
	Why  string // why all nodes that have accepted the same blocks give the same answer
}

// The facts that are compared.
var (
	FactBalances    = fact("balances", "A balance is part of the state after a block. Coins from other chains appear a few seconds apart.")
	FactBlockchains = fact("blockchains", "A transaction of the P-Chain creates each chain. A chain and its subnet never change.")
	FactFeeConfig   = fact("fee configuration", "It is part of the genesis or of the state of the chain, which all nodes execute.")
	FactFees        = fact("fees", "The P-Chain computes them from its state and its time. They may differ by 1 % between two blocks.")
	FactLogs        = fact("logs", "The transactions of a block write them. The logs of the same accepted blocks are counted.")
	FactOwners      = fact("owners", "A transaction of the P-Chain sets them.")
	FactReceipts    = fact("receipts", "Each transaction of an accepted block has one. Those of the same block are counted.")
	FactRewards     = fact("rewards", "The P-Chain pays them in a block, which never changes.")
	FactStake       = fact("stake", "The stake of each validator is part of the P-Chain's state. Delegations change it at a block.")
	FactSupply      = fact("supply", "It is part of the P-Chain's state. It may differ by 1 % between two blocks.")
	FactValidators  = fact("validators", "A set is part of the P-Chain's state. What a node has observed about validators is not compared.")
)

var facts []Fact

func fact(name, why string) Fact {
	facts = append(facts, Fact{name, why})
	return facts[len(facts)-1]
}

// Facts returns the facts that are compared, by name.
func Facts() []Fact { return facts }

// Basis says whose answer counts about a fact that is not compared, because the protocol does not make it equal on all nodes or little depends on it. Each
// question to several nodes that is not about a Fact names its Basis.
type Basis struct {
	Fact  string
	Whose string
}

// The facts that are not compared.
var (
	BasisHeight = basis("height and epoch of a chain", "what most have reached: see above")
	BasisOwn    = basis("identity, version and configuration of a node",
		"the node itself. Two with the same node ID are both paged (AvaxNodeIdentityChanged). For an hour after a change of its node ID, it may not stop")
	BasisBlock     = basis("block at a height", "each node for itself: a difference is an alert (AvaxForkDetected)")
	BasisChains    = basis("chains that a node tracks, for AVAX_CHAINS=auto", "the node itself, if most nodes list the chain")
	BasisConnected = basis("connected weight", "the lowest report; for a yes, more than half of the other nodes must be well connected")
	BasisUptime    = basis("uptime of a validator", "the peers' or your nodes' reports, weighted by stake, whichever cover more stake")
	BasisUpgrade   = basis("time of the upgrade Helicon", "the earliest that a node reports")
	BasisRules     = basis("rules and precompiles of an EVM chain, and its EVM chain ID", "the first node that answers")
	BasisAsset     = basis("name and decimals of an asset", "the first node that answers")
	BasisPaid      = basis("owners of your validators' rewards, for the command rewards", "the first node that answers, and the rewards that were paid")
)

var bases []Basis

func basis(fact, whose string) Basis {
	bases = append(bases, Basis{fact, whose})
	return bases[len(bases)-1]
}

// Bases returns the facts that are not compared.
func Bases() []Basis { return bases }
