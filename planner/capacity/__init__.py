"""How many more replicas of each workload kube-scheduler would place.

`growth`: the cluster in which every workload asks for more; `room`: counts where the order cannot matter;
`replicas`: one workload, replica by replica or in bulk; `best`: what any placement could hold;
`autoscalers`: all at their maximum; `capacity`: the document.
"""
