package daemon

func document(table []route, version string) ([]byte, error) { return nil, nil }
