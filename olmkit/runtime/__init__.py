"""The controller runtime: client, informers, work queue, controllers, leader election and the manager that runs them."""
