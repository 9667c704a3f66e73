package main

import (
	"bufio"
	"crypto/sha256"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"strconv"
	"strings"
)

// writeSet writes an answer of platform.getCurrentValidators with n validators, of realistic size: slightly more than a kilobyte each.
func writeSet(to io.Writer, n int) error {
	w := bufio.NewWriterSize(to, 1<<20)
	_, _ = io.WriteString(w, `{"jsonrpc":"2.0","result":{"validators":[`) // a bufio.Writer keeps its error
	for i := range n {
		if i > 0 {
			_ = w.WriteByte(',')
		}
		hash := sha256.Sum256([]byte(strconv.Itoa(i)))
		key := strings.Repeat(fmt.Sprintf("%x", hash[:16]), 3)
		owner := fmt.Sprintf(`{"locktime":"0","threshold":"1","addresses":["P-avax1%x"]}`, hash[:19])
		fmt.Fprintf(w, `{"txID":"%s","startTime":"1795198145","endTime":"1798198745","weight":"%d","nodeID":"%s",`+
			`"validationRewardOwner":%s,"delegationRewardOwner":%s,"validatorAuthority":%s,"autoCompoundRewardShares":"300000","potentialReward":"%d","accruedDelegateeReward":"%d",`+
			`"delegationFee":"2.0000","uptime":"%.4f","connected":true,"signer":{"publicKey":"0x%s","proofOfPossession":"0x%s"},`+
			`"delegatorCount":"%d","delegatorWeight":"%d"}`,
			base58(hash[:]), 2_000_000_000_000+i, nodeID(i), owner, owner, owner, 3_780_382+i, i, 90+float64(i%1000)/100, key, key+key, i%300, i*1000)
	}
	_, _ = io.WriteString(w, `]},"id":1}`+"\n")
	return w.Flush()
}

// serveSet answers every request with a set of the size in its path.
func serveSet(w http.ResponseWriter, r *http.Request) {
	n, err := strconv.Atoi(strings.Split(strings.Trim(r.URL.Path, "/"), "/")[0])
	if err != nil {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = writeSet(w, n)
}

// nodeID returns the ID of the i-th node: base 58, with a checksum of four bytes at the end.
func nodeID(i int) string {
	id := sha256.Sum256(fmt.Appendf(nil, "node %d", i))
	id[0] |= 1 // base 58 would lose a leading zero
	check := sha256.Sum256(id[:20])
	return "NodeID-" + base58(append(id[:20:20], check[28:]...))
}

func base58(bytes []byte) string {
	const digits = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
	n, base, digit := new(big.Int).SetBytes(bytes), big.NewInt(58), new(big.Int)
	var text []byte
	for n.Sign() > 0 {
		n.DivMod(n, base, digit)
		text = append(text, digits[digit.Int64()])
	}
	for i, j := 0, len(text)-1; i < j; i, j = i+1, j-1 {
		text[i], text[j] = text[j], text[i]
	}
	return string(text)
}
