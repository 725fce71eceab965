//det:ring0

package scenarios

import "pestle/checker"

// propertySlugs lists the properties a scenario can require, in catalog order.
func propertySlugs() []string {
	var slugs []string
	for _, e := range checker.Catalog() {
		slugs = append(slugs, e.Slug)
	}
	return slugs
}
