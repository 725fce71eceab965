// Command detlint is a vet tool that keeps Pestle's ring 0 pure. The rules, the
// table of ring-0 packages and what the tool cannot see are in package purity.
//
//	go build -o /tmp/detlint ./cmd/detlint
//	go vet -vettool=/tmp/detlint ./...
//
// It exits 0 when nothing was found. A finding names file, line, the rule and
// what to do instead.
package main

import (
	"golang.org/x/tools/go/analysis/unitchecker"

	"pestle/cmd/detlint/purity"
)

func main() {
	unitchecker.Main(purity.New(purity.Pestle))
}
