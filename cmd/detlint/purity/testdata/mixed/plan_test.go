package mixed

func inTest() {
	go func() { Limits.Max = 3 }()
}
