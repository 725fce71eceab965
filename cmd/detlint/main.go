// Command detlint is a vet tool that keeps Pestle's ring 0 pure. The rules, the
// table of ring-0 packages and what the tool cannot see are in package purity.
//
//	go build -o /tmp/detlint ./cmd/detlint
//	go vet -vettool=/tmp/detlint ./...
//	go test -race $(/tmp/detlint packages)
//
// As a vet tool it exits 0 when nothing was found; a finding names file, line,
// the rule and what to do instead. "detlint packages" prints the import paths
// of ring 0, one a line.
package main

import (
	"fmt"
	"os"

	"golang.org/x/tools/go/analysis/unitchecker"

	"pestle/cmd/detlint/purity"
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == "packages" {
		for _, p := range purity.Pestle {
			fmt.Println(p.Path)
		}
		return
	}
	unitchecker.Main(purity.New(purity.Pestle))
}
