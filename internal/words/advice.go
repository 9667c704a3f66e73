package words

// What to do about faults of nodes and validators, as the alerts say it, and before them the pages.
const (
	FreeDisk   = "Delete old logs, snapshots and core dumps of the node, and nothing under db. If this is not enough, enlarge the disk."
	StartAgain = `Waiting does not help. Read the log of the chain on the node, and search main.log for "failed to create chain". Install the VM plugin that ` +
		`this release of AvalancheGo needs, or correct the configuration of the chain. Then restart the node.`
	TrackSubnet    = `Start the node with --track-subnets for the subnet of the chain. If it has that flag, search main.log for "failed to create chain".`
	FindPeers      = "check its internet connection, DNS and firewall: it must reach other nodes on their staking ports (by default TCP 9651)."
	StakeAgain     = "If the validator should continue, stake again. If not, remove it from AVAX_VALIDATORS if it is listed there."
	CheckValidator = "Log in to the validator or call its operator. Check the validator's process, network and TCP 9651."
)
