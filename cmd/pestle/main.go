// Command pestle grinds message queues until they crack, and is a broker built
// to survive the grinding. One file per command; none holds logic of its own.
//
//	pestle run scenarios/first-light.yaml
//	pestle broker --data-path /var/lib/pestle
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

// Exit codes every command keeps to.
const (
	exitPass         = 0
	exitViolation    = 1
	exitHarness      = 2
	exitInconclusive = 3
	exitUsage        = 64
)

// exitError ends the process with Code; a nil Err was already told.
type exitError struct {
	Code int
	Err  error
}

func (e *exitError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit code %d", e.Code)
	}
	return e.Err.Error()
}

func (e *exitError) Unwrap() error { return e.Err }

func main() {
	// The first Ctrl-C asks for an orderly end, the second one ends at once.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	os.Exit(execute(ctx, rootCommand(), arguments(os.Args)))
}

// execute runs the command and returns its exit code. Errors that name no
// code of their own are wrong usage.
func execute(ctx context.Context, root *cobra.Command, args []string) int {
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitPass
	}
	code := exitUsage
	var coded *exitError
	if errors.As(err, &coded) {
		code = coded.Code
		if coded.Err == nil {
			return code
		}
	}
	fmt.Fprintf(root.ErrOrStderr(), "pestle: %v\n", err)
	return code
}

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "pestle",
		Short: "Grind message queues until they crack",
		Long: `Pestle runs a message queue under load, injects faults, and judges from the
recorded history whether it kept its promises. It also is a durable broker
that speaks NSQ's protocol.`,
		Example: `  pestle run scenarios/first-light.yaml             # break our broker, or fail to
  pestle run scenarios/first-light.yaml --seed 7    # another plan
  pestle check runs/first-light-7                   # judge a saved run again
  pestle broker --data-path /tmp/data               # just the broker`,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(runCommand(), replayCommand(), shrinkCommand(), checkCommand(), planCommand(),
		campaignCommand(), campaignWorkerCommand(),
		brokerCommand(), clusterCommand(), workloadCommand(), stopFaultsCommand(), antithesisCommand(), agentCommand(), hogCommand(),
		doctorCommand(), downCommand(), benchCommand(), versionCommand())
	return root
}
