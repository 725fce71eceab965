package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/spf13/cobra"
)

// clusterWithin is how long a node may take to answer.
const clusterWithin = 10 * time.Second

func clusterCommand() *cobra.Command {
	var node clusterNode
	cmd := &cobra.Command{
		Use:   "cluster",
		Short: "Watch and change a cluster of brokers",
		Long: `Cluster asks one node of a cluster over HTTP, any that answers. It tells what
that node knows, and passes on what is to be changed.

Exit codes: 0 done, or healthy; 1 refused, or some group has no leader, or the
node is in quarantine; 2 the node cannot be reached; 64 wrong usage.`,
		Example: `  pestle cluster status --http 127.0.0.1:4151
  pestle cluster drain 2                                   # before node 2 is stopped
  pestle cluster drain 2 --undo                            # after it came back
  pestle cluster transfer-leader 1                         # node 1 shall lead every group
  pestle cluster replace 3 --new 4 --address 10.0.0.4:4160 # node 3 lost its data`,
		Args: cobra.NoArgs,
	}
	cmd.PersistentFlags().StringVar(&node.http, "http", "127.0.0.1:4151", "`host:port` of a node's HTTP address")
	cmd.AddCommand(clusterStatusCommand(&node), clusterTransferCommand(&node), clusterDrainCommand(&node), clusterReplaceCommand(&node))
	return cmd
}

func clusterTransferCommand(node *clusterNode) *cobra.Command {
	var group string
	cmd := &cobra.Command{
		Use:     "transfer-leader NODE",
		Short:   "Make a node lead a group, or all",
		Example: `  pestle cluster transfer-leader 1 --group 3 --http 127.0.0.1:4151`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			to, err := parseNode(args[0])
			if err != nil {
				return err
			}
			if err := node.post(cmd.Context(), "transfer", url.Values{"node": {args[0]}, "group": {group}}); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "asked: node %d leads group %s. Done when it is the leader there in: %s\n", to, group, node.status())
			return nil
		},
	}
	cmd.Flags().StringVar(&group, "group", "all", "`number` of the group, metadata or all")
	return cmd
}

func clusterDrainCommand(node *clusterNode) *cobra.Command {
	var undo bool
	cmd := &cobra.Command{
		Use:   "drain NODE",
		Short: "Take the lead of every group from a node that is to be stopped",
		Long: `Drain makes other nodes lead what the node leads, and keeps it from leading
again, until --undo. It keeps its vote and its copy. A node that was drained is
stopped without any publish having to wait for an election.`,
		Example: `  pestle cluster drain 2 --http 127.0.0.1:4151
  pestle cluster drain 2 --undo --http 127.0.0.1:4151`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := parseNode(args[0])
			if err != nil {
				return err
			}
			if err := node.post(cmd.Context(), "drain", url.Values{"node": {args[0]}, "undo": {strconv.FormatBool(undo)}}); err != nil {
				return err
			}
			if undo {
				fmt.Fprintf(cmd.OutOrStdout(), "asked: node %d may lead again. Done when it is not draining in: %s\n", id, node.status())
			} else {
				fmt.Fprintf(cmd.OutOrStdout(), "asked: node %d leads nothing any more. It can be stopped when it leads no group in: %s\n", id, node.status())
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&undo, "undo", false, "let the node lead again")
	return cmd
}

func clusterReplaceCommand(node *clusterNode) *cobra.Command {
	var r replacement
	cmd := &cobra.Command{
		Use:   "replace NODE",
		Short: "Put a new node in the place of one that lost its data",
		Long: `Replace adds the new node, which gets everything and then a vote, and removes
the old one. The new node has an id that was never used, an empty directory, and
was started with --join.`,
		Example: `  pestle broker --node-id 4 --join --cluster 1=10.0.0.1:4160,2=10.0.0.2:4160 \
    --peer-address 10.0.0.4:4160 --data-path /var/lib/pestle &
  pestle cluster replace 3 --new 4 --address 10.0.0.4:4160 --http 10.0.0.1:4151
  pestle cluster replace 3 --remove --http 10.0.0.1:4151      # without a new one`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			old, err := parseNode(args[0])
			if err != nil {
				return err
			}
			values, err := r.values(old)
			if err != nil {
				return err
			}
			if err := node.post(cmd.Context(), "replace", values); err != nil {
				return err
			}
			if r.remove {
				fmt.Fprintf(cmd.OutOrStdout(), "asked: node %d is removed. Done when it is not a member in: %s\n", old, node.status())
			} else {
				fmt.Fprintf(cmd.OutOrStdout(), "asked: node %d takes the place of node %d. Done when it is a member and no learner, and node %d is none, in: %s\n",
					r.node, old, old, node.status())
			}
			return nil
		},
	}
	cmd.Flags().Uint64Var(&r.node, "new", 0, "`id` of the new node")
	cmd.Flags().StringVar(&r.address, "address", "", "`host:port` where the others reach the new node, its --peer-address")
	cmd.Flags().BoolVar(&r.remove, "remove", false, "remove the node without a new one")
	cmd.MarkFlagsMutuallyExclusive("remove", "new")
	cmd.MarkFlagsMutuallyExclusive("remove", "address")
	return cmd
}

// replacement is what comes in the place of a node.
type replacement struct {
	node    uint64
	address string
	remove  bool // nothing does
}

// values are the parameters of the call.
func (r replacement) values(old uint64) (url.Values, error) {
	values := url.Values{"node": {strconv.FormatUint(old, 10)}}
	if r.remove {
		return values, nil
	}
	if r.node == 0 || r.node == old {
		return nil, fmt.Errorf("--new is %d; give the id of the new node, one that was never used, or --remove", r.node)
	}
	if err := checkAddress(r.address); err != nil {
		return nil, fmt.Errorf("--address, where the others reach node %d: %w", r.node, err)
	}
	values.Set("new", strconv.FormatUint(r.node, 10))
	values.Set("address", r.address)
	return values, nil
}

// clusterNode is the node that is asked.
type clusterNode struct{ http string }

// status is the command that shows whether a change is done.
func (n *clusterNode) status() string { return "pestle cluster status --http " + n.http }

func (n *clusterNode) post(ctx context.Context, change string, values url.Values) error {
	_, err := n.call(ctx, http.MethodPost, "/cluster/"+change+"?"+values.Encode())
	return err
}

// call returns the body of an answer. Its errors have exit codes.
func (n *clusterNode) call(ctx context.Context, method, path string) ([]byte, error) {
	if err := checkAddress(n.http); err != nil {
		return nil, fmt.Errorf("--http: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, clusterWithin)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, "http://"+n.http+path, http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("--http %q: %w", n.http, err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, harness(fmt.Errorf("the node cannot be reached; name another one with --http: %w", err))
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, harness(fmt.Errorf("read the answer of %s: %w", n.http, err))
	}
	if resp.StatusCode != http.StatusOK {
		return nil, &exitError{exitViolation, fmt.Errorf("%s refused: %s", n.http, refusalIn(body))}
	}
	return body, nil
}

// refusalIn is the sentence in the answer of a node that refused.
func refusalIn(body []byte) string {
	var refused struct{ Message, Detail string }
	if json.Unmarshal(body, &refused) != nil {
		return string(body)
	}
	if refused.Detail != "" {
		return refused.Message + ": " + refused.Detail
	}
	return refused.Message
}
