package pure

import "mixed"

func fromElsewhere() string {
	f := mixed.Open("plan.json") // want "Open is declared in a driver file"
	return f.Name                // want "Name is declared in a driver file"
}
