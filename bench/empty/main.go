// Command empty does nothing: the control for start-up time.
package main

func main() {}
