// Command empty does nothing. It is the control for start-up time.
package main

func main() {}
