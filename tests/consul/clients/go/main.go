// Holds the packages whose own tests are run (../../processes/clients_go_test.py).
package main

import (
	_ "github.com/hashicorp/consul/api"
	_ "github.com/hashicorp/consul/api/watch"
)

func main() {}
