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
	FactLogs        = Fact{"logs", "The transactions of a block write them. The logs of the same accepted blocks are counted."}
	FactOwners      = Fact{"owners", "A transaction of the P-Chain sets them."}
	FactReceipts    = Fact{"receipts", "Each transaction of an accepted block has one. Those of the same block are counted."}
	FactRewards     = Fact{"rewards", "The P-Chain pays them in a block, which never changes."}
	FactStake       = Fact{"stake", "The stake of each validator is part of the P-Chain's state. Delegations change it at a block."}
	FactSupply      = Fact{"supply", "It is part of the P-Chain's state. It may differ by 1 % between two blocks."}
	FactValidators  = Fact{"validators", "A set is part of the P-Chain's state. What a node has observed about validators is not compared."}
)

// Facts returns the facts that are compared, by name.
func Facts() []Fact {
	return []Fact{FactBalances, FactBlockchains, FactFeeConfig, FactFees, FactLogs, FactOwners, FactReceipts, FactRewards, FactStake, FactSupply, FactValidators}
}

// Word is a fact that is not compared, because the protocol does not make it equal on all nodes or little depends on it, and on whose word it rests. Each
// question to several nodes that is not about a Fact names its Word.
type Word struct {
	Name  string
	Whose string
}

// The facts that are not compared.
var (
	WordHeight    = Word{"height and epoch of a chain", "what most have reached: see above"}
	WordOwn       = Word{"identity, version and configuration of a node", "the node itself"}
	WordBlock     = Word{"block at a height", "each node for itself: a difference is an alert (AvaxForkDetected)"}
	WordChains    = Word{"chains that a node tracks, for AVAX_CHAINS=auto", "the node itself, if most nodes list the chain"}
	WordConnected = Word{"connected weight", "the lowest report; for a yes, more than half of the other nodes must be well connected"}
	WordUptime    = Word{"uptime of a validator", "the peers' or your nodes' reports, weighted by stake, whichever cover more stake"}
	WordUpgrade   = Word{"time of the upgrade Helicon", "the earliest that a node reports"}
	WordRules     = Word{"rules and precompiles of an EVM chain, and its EVM chain ID", "the first node that answers"}
	WordAsset     = Word{"name and decimals of an asset", "the first node that answers"}
	WordPaid      = Word{"owners of your validators' rewards, for the command rewards", "the first node that answers, and the rewards that were paid"}
)

// Words returns the facts that are not compared.
func Words() []Word {
	return []Word{WordHeight, WordOwn, WordBlock, WordChains, WordConnected, WordUptime, WordUpgrade, WordRules, WordAsset, WordPaid}
}
