//det:ring0

package scenarios

// propertySlugs lists the properties a scenario can require, in catalog order.
func propertySlugs() []string {
	return []string{
		"no-data-corruption", "no-phantom-messages", "message-ordering", "no-data-loss",
		"producer-progress", "consumer-progress", "delivery-guarantee",
	}
}

// claimNames lists the reachability claims a scenario can require.
func claimNames() []string {
	return []string{
		"retried-failed-send", "gave-up-after-last-retry", "duplicate-consumed",
		"unknown-later-seen", "consumer-resumed-after-kill", "producer-killed-between-attempt-and-ack",
	}
}
